"""PPO and V-trace learn games with known answers, in seconds, without hosts."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.running import Silent, small_run

from ludus.actors.actor import Actor
from ludus.actors.in_flight import ActorState
from ludus.actors.inline import InlineActor
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config.settings import FleetConfig, LearnerConfig, OpponentsConfig, PpoConfig, ReplayConfig
from ludus.errors import ConfigError
from ludus.fleet.inprocess import InProcessFleet
from ludus.games.toy.matches import best_actions, new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint, load_agent, read_state
from ludus.run import RunLoop
from ludus.types import Arrivals

PPO = LearnerConfig(decisions=512, minibatch=128, epochs=4, lr=3e-3, ppo=PpoConfig(gae_lambda=0.95))
VTRACE = LearnerConfig(
    algorithm="vtrace",
    decisions=512,
    minibatch=128,
    epochs=2,
    lr=3e-3,
    max_lag=8,
    replay=ReplayConfig(decisions=4096, reuse=3),
)


def fleet_of(options: ToyOptions, at_once: int = 0) -> InProcessFleet:
    spec = spec_of(options)
    return InProcessFleet(spec, lambda: new_match(options, spec), 16, at_once=at_once)


def open_run(
    fleet: InProcessFleet,
    options: ToyOptions,
    run_dir: Path,
    updates: int,
    saved: Path | None = None,
    learner: LearnerConfig = PPO,
) -> tuple[RunLoop, Actor]:
    config = small_run(
        updates,
        fleet=FleetConfig(hosts=1, matches=16),
        learner=learner,
        opponents=OpponentsConfig(snapshot_every=5),
    )
    metrics, pool = Metrics(), Pool(run_dir / "pool", 4)
    checkpoint = None if saved is None else SavedCheckpoint(saved, read_state(saved))
    resolved = resolve(config).played_with(options).continued_from(checkpoint)
    actor = Actor(fleet, resolved, pool)
    return RunLoop(resolved, run_dir, ActorSource([InlineActor(actor, metrics)], metrics), metrics, Silent()), actor


def learn(
    options: ToyOptions, run_dir: Path, *, updates: int, at_once: int = 0, learner: LearnerConfig = PPO
) -> InProcessFleet:
    fleet = fleet_of(options, at_once)
    run, _ = open_run(fleet, options, run_dir, updates, learner=learner)
    assert run.train(lambda: False) == "finished"
    return fleet


def states(
    fleet: InProcessFleet, shown: Sequence[int], legal: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
) -> Arrivals:
    n, spec = len(shown), fleet.spec
    obs = np.zeros((n, spec.obs.nbytes), np.uint8)
    spec.obs.leaf(obs, spec.obs.leaves[0].name)[np.arange(n), list(shown)] = 1
    zeros = np.zeros(n, np.int64)
    return Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))


@pytest.mark.parametrize("at_once", [0, 5])
def test_identity_is_learned_whether_rows_come_together_or_a_few_at_a_time(tmp_path: Path, at_once: int) -> None:
    fleet = learn(ToyOptions(game="identity"), tmp_path, updates=15, at_once=at_once)
    asked = states(fleet, range(4), np.ones((4, 4), np.bool_))
    assert load_agent(tmp_path).act(asked).action.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("learner", "updates"), [(PPO, 40), (VTRACE, 90)], ids=["ppo", "vtrace with replay"])
def test_nim_is_played_perfectly_from_every_winning_position(
    tmp_path: Path, learner: LearnerConfig, updates: int
) -> None:
    fleet = learn(ToyOptions(game="nim", pile=9), tmp_path, updates=updates, learner=learner)
    piles = [pile for pile in range(1, 10) if pile % 4]
    legal = np.array([[take <= pile for take in (1, 2, 3)] for pile in piles])
    asked = states(fleet, piles, legal)
    assert load_agent(tmp_path).act(asked).action.tolist() == best_actions(fleet.spec, asked.obs).tolist()


def test_replay_makes_more_of_every_decision_and_a_largest_lag_is_kept(tmp_path: Path) -> None:
    learn(ToyOptions(game="nim"), tmp_path, updates=12, learner=VTRACE)
    counters = checkpoint.read_state(checkpoint.find(tmp_path)).counters
    assert counters[names.LEARNED] == 4 * 512
    assert counters[names.REPLAYED] == 8 * 512
    short = msgspec.structs.replace(VTRACE, max_lag=1)
    learn(ToyOptions(game="nim"), tmp_path / "short", updates=12, learner=short)
    counters = checkpoint.read_state(checkpoint.find(tmp_path / "short")).counters
    assert counters[names.DROPPED] > 0
    assert counters[names.REPLAYED] < 8 * 512


def test_a_replay_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    options = ToyOptions(game="nim")
    endless = msgspec.structs.replace(VTRACE, replay=ReplayConfig(decisions=10**9))
    with pytest.raises(ConfigError, match=r"learner\.replay\.decisions: 1,000,000,000 decisions .* fit"):
        open_run(fleet_of(options), options, tmp_path, 1, learner=endless)


def test_rps_is_learned_from_matches_that_are_truncated(tmp_path: Path) -> None:
    fleet = learn(ToyOptions(game="rps", rounds=50, truncate_after=3), tmp_path, updates=15)
    asked = states(fleet, range(3), np.ones((3, 3), np.bool_))
    assert load_agent(tmp_path).act(asked).action.tolist() == [1, 2, 0]


def test_past_selves_are_kept_where_there_is_somebody_to_play_against(tmp_path: Path) -> None:
    for options, versions in ((ToyOptions(game="identity"), []), (ToyOptions(game="nim"), [5])):
        learn(options, tmp_path / options.game, updates=6)
        assert Pool(tmp_path / options.game / "pool", 4).versions() == versions


def test_checkpoint_that_is_read_and_written_again_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    options = ToyOptions(game="nim")
    learn(options, tmp_path / "first", updates=12)
    first = checkpoint.find(tmp_path / "first")
    shutil.copytree(tmp_path / "first" / "pool", tmp_path / "second" / "pool")
    state = checkpoint.read_state(first)
    run, actor = open_run(fleet_of(options), options, tmp_path / "second", 99, saved=first)
    actor.set_past(state.pool)
    actor.restore(msgspec.convert(state.actor, ActorState))
    assert run.train(lambda: True) == "stopped"
    second = checkpoint.find(tmp_path / "second")
    again = checkpoint.read_state(second)
    assert again.version == 12
    assert state.counters[names.DECISIONS] >= 12 * 512
    assert msgspec.structs.replace(again, training_s=state.training_s) == state
    assert again.training_s == pytest.approx(state.training_s, abs=0.5)
    for file in ("model.safetensors", "optimiser.safetensors"):
        assert (second / file).read_bytes() == (first / file).read_bytes()


def test_lost_match_leaves_no_decision_in_what_is_learned(tmp_path: Path) -> None:
    """Every slot loses its first match after one turn; all that is learned belongs to the matches after it."""
    options = ToyOptions(game="identity", rounds=4)
    fleet = fleet_of(options)
    _, actor = open_run(fleet, options, tmp_path, 1)
    came = iter(range(100))

    def lose_all_once() -> bool:
        if next(came) == 1:
            for slot in range(16):
                fleet.void(slot, "died")
        return False

    batch = actor.layout.allocate()
    assert actor.play(batch, lose_all_once)
    assert (batch.opens.reshape(-1, 4) == [True, False, False, False]).all()
    assert (batch.ends.reshape(-1, 4) == [False, False, False, True]).all()
    delta = actor.drain()
    assert delta.counters[names.VOIDED_BY("died")] == delta.counters[names.VOIDED] == 16
    assert delta.counters[names.VOIDED_DECISIONS] == 16
    over = delta.counters[names.MATCHES] + delta.counters[names.VOIDED]
    assert delta.counters[names.BEGUN] == over + float(delta.gauges[names.UNDER_WAY])
    assert delta.gauges[names.UNDER_WAY] == 16
