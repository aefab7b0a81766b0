"""A game whose options refer to entities in any order is learned by the net `entities`, and not by an MLP."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Silent, Watch, small_run, train

from ludus.actors.actor import Actor
from ludus.actors.inline import InlineActor
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config import load
from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig
from ludus.evaluation import arena
from ludus.fleet.inprocess import InProcessFleet
from ludus.games.catalogue import options_of, presets
from ludus.games.toy.game import game
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints.checkpoint import load_agent
from ludus.run import RunLoop

OPTIONS = ToyOptions(game="cards", actions=5)
UPDATES, MATCHES = 60, 50
RANDOM = 0.36  # what random choices reach


def learned(policy: PolicyConfig, run_dir: Path) -> float:
    """Train, then the share of right answers."""
    learner = LearnerConfig(
        decisions=512, minibatch=256, epochs=4, lr=5e-3, gamma=0.0, entropy_coef=0.003, ppo=PpoConfig(target_kl=0)
    )
    config, spec, metrics = small_run(UPDATES, policy=policy, learner=learner), spec_of(OPTIONS), Metrics()
    fleet = InProcessFleet(spec, lambda: new_match(OPTIONS, spec), 32)
    resolved = resolve(config).played_with(OPTIONS)
    actor = Actor(fleet, resolved, Pool(run_dir / "pool", 4))
    run = RunLoop(resolved, run_dir, ActorSource([InlineActor(actor, metrics)], metrics), metrics, Silent())
    assert run.train(lambda: False)
    agent = {"agent": load_agent(run_dir)}
    (result,) = arena.play(
        game, OPTIONS, agent, agent="agent", opponents=(), matches=MATCHES, seed=3, log_dir=run_dir / "logs", hosts=1
    )
    return result.score


@pytest.mark.parametrize(
    ("net", "low", "high"), [("entities", 0.9, 1.0), ("mlp", RANDOM - 0.1, 0.55)], ids=["entities", "mlp"]
)
def test_options_about_cards_need_the_net_that_reads_them(tmp_path: Path, net: str, low: float, high: float) -> None:
    score = learned(PolicyConfig(net=net, width=32, context=32, layers=1, heads=2), tmp_path)
    assert low <= score <= high


def test_a_game_that_names_no_options_is_learned(tmp_path: Path) -> None:
    watch = Watch()
    sets = ("policy.net=entities", "policy.width=16", "policy.layers=1", "policy.heads=2", "mode=serial", "device=cpu")
    nim = load.load(
        presets()["nim"],
        [*sets, "learner.lr=5e-3", "budget.decisions=30000", "evaluation.matches=100"],
        options_of=options_of,
    )
    train(nim, tmp_path / "run", observer=watch)
    assert float(watch.numbers[names.WIN_RATE("random")]) >= 0.9


def test_a_board_of_pettingzoo_is_learned(tmp_path: Path) -> None:
    watch = Watch()
    sets = ("policy.net=entities", "policy.width=16", "policy.layers=1", "policy.heads=2", "mode=serial", "device=cpu")
    board = load.load(
        presets()["connect-four"],
        [*sets, "fleet.hosts=1", "learner.lr=3e-3", "budget.decisions=15000", "evaluation.matches=50"],
        options_of=options_of,
    )
    train(board, tmp_path / "run", observer=watch)
    assert float(watch.numbers[names.WIN_RATE("random")]) >= 0.6
