"""What older versions chose teaches what is right for the policy that learns, and not for those that chose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tests.running import Silent, Watch, assert_equal_runs, counters, recorded, small_run, train, with_updates

from ludus.config.settings import LearnerConfig, PolicyConfig, ReplayConfig, RolloutConfig
from ludus.learner import algorithms
from ludus.metrics import names
from ludus.policies import nets
from ludus.policies.network import NetPolicy
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, SegmentBatch

SAFE, RISKY, RIGHT = 0, 1, 2
SPEC = GameSpec("detour", 1, 4, ObsSpec.pack({"place": ("float32", (2,))}), 1)
SEGMENTS, LENGTH, UPDATES = 32, 16, 60
CONFIG = LearnerConfig(algorithm="vtrace", minibatch=SEGMENTS * LENGTH, epochs=1, entropy_coef=0.0, gamma=1.0)


class Detour:
    """At the fork, `SAFE` ends the match and earns 0.5; `RISKY` leads on, where `RIGHT` of four actions earns 1 and the
    others nothing. For who chooses at random the detour is worth 0.25, for who knows the way 1.
    """

    def __init__(self, seed: int) -> None:
        self._beyond = np.zeros(SEGMENTS, np.bool_)
        self._random = np.random.default_rng(seed)

    def arrivals(self) -> Arrivals:
        place = self._beyond.astype(np.int64)
        obs = np.zeros((SEGMENTS, SPEC.obs.nbytes), np.uint8)
        SPEC.obs.leaf(obs, "place")[np.arange(SEGMENTS), place] = 1
        legal = np.ones((SEGMENTS, SPEC.actions), np.bool_)
        legal[~self._beyond, RIGHT:] = False
        row = np.arange(SEGMENTS, dtype=np.int32)
        return Arrivals(row, row.astype(np.int64), obs, legal, np.zeros(SEGMENTS, np.float32), ~self._beyond)

    def played(self, policy: NetPolicy) -> SegmentBatch:
        """Segments by this policy; one whose match goes on after it does not know what comes."""
        batch = SegmentLayout(SPEC, SEGMENTS, LENGTH).allocate()
        for t in range(LENGTH):
            arrivals = self.arrivals()
            choices = policy.act(arrivals)
            batch.obs[:, t], batch.legal[:, t], batch.opens[:, t] = arrivals.obs, arrivals.legal, arrivals.opens
            batch.action[:, t], batch.logp[:, t], batch.value[:, t] = choices.action, choices.logp, choices.value
            goes_on = ~self._beyond & (choices.action == RISKY)
            beyond = self._beyond & (choices.action == RIGHT)
            batch.reward[:, t] = np.where(self._beyond, beyond, np.where(choices.action == SAFE, 0.5, 0.0))
            batch.ends[:, t] = ~goes_on
            self._beyond = goes_on
        return batch


def chances(config: LearnerConfig, *, corrected: bool) -> tuple[float, float]:
    """Of the detour, and of the right action beyond, after updates by what version 0 chose, and it alone."""
    net = nets.build(SPEC, PolicyConfig(width=8), "mlp", seed=3)
    oldest = NetPolicy(nets.build(SPEC, PolicyConfig(width=8), "mlp", seed=3), SPEC)
    algorithm = algorithms.build(config, net, SPEC, torch.Generator().manual_seed(1), torch.device("cpu"))
    game = Detour(2)
    for _ in range(UPDATES):
        batch = game.played(oldest)
        if not corrected:  # as if the policy that learns had chosen itself
            flat = batch.obs.reshape(batch.decisions, -1), batch.legal.reshape(batch.decisions, -1)
            with torch.no_grad():
                said, _ = algorithm.net(*_tensors(*flat))
                batch.logp[:] = said.log_prob(torch.from_numpy(batch.action).flatten().long()).view(SEGMENTS, LENGTH)
        assert names.SKIPPED not in algorithm.update(batch, 1e-2)
    place = torch.eye(2)
    legal = torch.tensor([[True, True, False, False], [True] * 4])
    with torch.no_grad():
        said, _ = algorithm.net({"place": place}, legal)
        took = said.log_prob(torch.tensor([RISKY, RIGHT])).exp()
    return float(took[0]), float(took[1])


def _tensors(obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    return {"place": torch.from_numpy(SPEC.obs.leaf(obs, "place").copy())}, torch.from_numpy(legal.copy())


def test_vtrace_learns_what_is_best_for_who_knows_the_way_from_somebody_who_does_not() -> None:
    detour, right = chances(CONFIG, corrected=True)
    assert right > 0.9
    assert detour > 0.9


def test_without_its_correction_the_same_decisions_teach_what_was_best_for_whoever_chose() -> None:
    detour, right = chances(CONFIG, corrected=False)
    assert right > 0.9
    assert detour < 0.1


def test_with_a_long_queue_every_decision_is_learned_dropped_or_kept_for_a_resume(tmp_path: Path) -> None:
    """Hosts, an actor and the learner, each in a process of its own."""
    learner = LearnerConfig(
        algorithm="vtrace",
        decisions=128,
        minibatch=64,
        epochs=2,
        max_lag=3,
        replay=ReplayConfig(decisions=1024, reuse=2),
    )
    chosen = small_run(
        15,
        mode="overlapped",
        learner=learner,
        rollout=RolloutConfig(segment=8, queue=3),
        options={"game": "rps", "rounds": 300},
    )
    watch = Watch()
    result = train(chosen, tmp_path, observer=watch)
    counted = counters(result)
    dropped = counted.get(names.DROPPED, 0)
    assert counted[names.DECISIONS] == counted[names.LEARNED] + dropped + recorded(result)
    assert 0 < float(watch.numbers[names.LAG_MAX]) <= 3
    again = train(with_updates(chosen, 18), tmp_path, resume=True, observer=watch)
    counted = counters(again)
    assert again.version == 18
    assert counted[names.DECISIONS] == counted[names.LEARNED] + counted.get(names.DROPPED, 0) + recorded(again)
    assert names.VOIDED not in counted
    assert names.BEGUN_ANEW not in counted


def test_a_serial_run_with_replay_that_was_stopped_ends_with_the_weights_it_would_have_had(tmp_path: Path) -> None:
    replay = ReplayConfig(decisions=1024, reuse=3)
    learner = LearnerConfig(algorithm="vtrace", decisions=128, minibatch=64, lr_schedule="constant", replay=replay)
    five, nine = (small_run(updates, learner=learner) for updates in (5, 9))  # the fifth is a replayed one
    whole = train(nine, tmp_path / "whole", observer=Silent())
    train(five, tmp_path / "parts", observer=Silent())
    parts = train(nine, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)
    assert counters(parts)[names.REPLAYED] == 6 * 128
