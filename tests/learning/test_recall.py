"""A game that asks for what was seen before is solved by a recurrent net, and not without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Silent, small_run

from ludus.actors.actor import Actor
from ludus.actors.inline import InlineActor
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config.settings import LearnerConfig, PolicyConfig, RecurrentConfig, RolloutConfig
from ludus.evaluation import arena
from ludus.fleet.inprocess import InProcessFleet
from ludus.games.toy.game import game
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.pool import Pool
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints.checkpoint import load_agent
from ludus.run import RunLoop

OPTIONS = ToyOptions(game="recall", rounds=5, actions=4)
UPDATES, MATCHES = 50, 100


def learned(recurrent: RecurrentConfig, run_dir: Path) -> float:
    """Train, then the share of right answers."""
    config = small_run(
        UPDATES,
        policy=PolicyConfig(width=8, recurrent=recurrent),
        rollout=RolloutConfig(segment=12),  # so that segments begin within matches
        learner=LearnerConfig(decisions=32 * 12, minibatch=16 * 12, epochs=4, lr=8e-3, entropy_coef=0.03),
    )
    spec = spec_of(OPTIONS)
    fleet = InProcessFleet(spec, lambda: new_match(OPTIONS, spec), 16)
    metrics = Metrics()
    resolved = resolve(config).played_with(OPTIONS)
    actor = Actor(fleet, resolved, Pool(run_dir / "pool", 4))
    run = RunLoop(resolved, run_dir, ActorSource([InlineActor(actor, metrics)], metrics), metrics, Silent())
    assert run.train(lambda: False)
    (result,) = arena.play(
        game,
        OPTIONS,
        {"agent": load_agent(run_dir)},
        agent="agent",
        opponents=(),
        matches=MATCHES,
        seed=3,
        log_dir=run_dir / "evaluation",
        hosts=1,
    )
    return result.score


@pytest.mark.parametrize(
    "recurrent",
    [
        RecurrentConfig(kind="lstm", width=16, sequence_length=12),
        RecurrentConfig(kind="gru", width=16, sequence_length=6, burn_in=3),
    ],
    ids=["lstm", "gru with burn-in"],
)
def test_recall_is_solved_with_memory(tmp_path: Path, recurrent: RecurrentConfig) -> None:
    assert learned(recurrent, tmp_path) > 0.95


def test_recall_is_not_solved_without_memory(tmp_path: Path) -> None:
    assert learned(RecurrentConfig(), tmp_path) < 0.55
