from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ludus.config.settings import BudgetConfig, LearnerConfig, ReplayConfig
from ludus.errors import TrainingError
from ludus.learner.loop import Learner, learning_rate, used
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.weights import FlatWeights
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (2,))}), 1)


class FakeSource:
    """Gives the same batch again and again, `batches` times, and remembers what was published."""

    def __init__(self, batches: int) -> None:
        self.left = batches
        self.published: list[int] = []
        self.released = 0

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        if stopped() or not self.left:
            return None
        self.left -= 1
        return SegmentLayout(SPEC, 2, 4).allocate()

    def ready(self) -> bool:
        return False

    def release(self) -> None:
        self.released += 1

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self.published.append(version)


class FakeAlgorithm:
    def __init__(self, skip: Callable[[int], bool] = lambda update: False) -> None:
        self.weights = FlatWeights(torch.nn.Linear(1, 1))
        self.rates: list[float] = []
        self._skip = skip

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        self.rates.append(lr)
        return {names.SKIPPED: 1.0} if self._skip(len(self.rates)) else {names.KL: 0.01, names.LR: lr}


def learner(source: FakeSource, algorithm: FakeAlgorithm, **budget: int) -> tuple[Learner, Metrics]:
    metrics = Metrics()
    config = LearnerConfig(lr=1.0, lr_end=0.0, skipped_in_a_row=3)
    return Learner(source, algorithm, config, BudgetConfig(minutes=0, **budget), metrics), metrics


def test_budget_is_used_by_the_limit_nearest_its_end() -> None:
    budget = BudgetConfig(minutes=10, decisions=1000, updates=50)
    assert used(budget, training_s=60, learned=300, updates=5) == pytest.approx(0.3)
    assert used(budget, training_s=540, learned=300, updates=5) == pytest.approx(0.9)
    assert used(BudgetConfig(minutes=0), training_s=1e9, learned=1e9, updates=10) == 0


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_learning_rate_falls_from_lr_to_lr_end(schedule: str) -> None:
    config = LearnerConfig(lr=1.0, lr_end=0.2, lr_schedule="linear" if schedule == "linear" else "cosine")
    rates = [learning_rate(config, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)]
    assert rates[0] == 1.0
    assert rates[2] == pytest.approx(0.6)
    assert rates[-2:] == pytest.approx([0.2, 0.2])
    assert rates == sorted(rates, reverse=True)


def test_every_update_publishes_a_version_and_releases_its_batch_until_the_budget_is_used() -> None:
    source, algorithm = FakeSource(10), FakeAlgorithm()
    loop, metrics = learner(source, algorithm, updates=4)
    after: list[int] = []
    assert loop.run(lambda: False, lambda: after.append(loop.version))
    assert source.published == after == [1, 2, 3, 4]
    assert source.released == 4
    assert algorithm.rates == pytest.approx([1.0, 0.75, 0.5, 0.25])
    assert metrics.counter(names.LEARNED) == 4 * 8


def test_counters_grow_by_what_the_algorithm_learned_and_dropped() -> None:
    class Picky(FakeAlgorithm):
        def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
            return {names.LEARNED: 5, names.DROPPED: 3}

    loop, metrics = learner(FakeSource(10), Picky(), updates=2)
    assert loop.run(lambda: False, lambda: None)
    assert metrics.counter(names.LEARNED) == 10
    assert metrics.counter(names.DROPPED) == 6


def test_lag_counts_versions_between_choosing_and_learning() -> None:
    source, algorithm = FakeSource(3), FakeAlgorithm()  # its batches were all chosen by version 0
    loop, metrics = learner(source, algorithm, updates=3)
    loop.run(lambda: False, lambda: None)
    numbers = metrics.snapshot()
    assert numbers[names.LAG] == pytest.approx((0 + 1 + 2) / 3)
    assert numbers[names.LAG_MAX] == 2


def test_what_is_learned_once_more_is_counted_apart_from_the_budget() -> None:
    source, metrics = FakeSource(10), Metrics()
    config = LearnerConfig(algorithm="vtrace", replay=ReplayConfig(decisions=16, reuse=2))
    budget = BudgetConfig(minutes=0, decisions=3 * 8)
    loop = Learner(source, FakeAlgorithm(), config, budget, metrics, replay=ReplayBuffer(4, reuse=2, seed=1))
    assert loop.run(lambda: False, lambda: None)
    assert metrics.counter(names.LEARNED) == 3 * 8
    assert metrics.counter(names.REPLAYED) == 2 * 8  # none after the last fresh one: the budget is used up
    assert source.published == [1, 2, 3, 4, 5]


def test_a_batch_that_was_skipped_is_not_replayed() -> None:
    source, metrics = FakeSource(4), Metrics()
    config = LearnerConfig(algorithm="vtrace", replay=ReplayConfig(decisions=16, reuse=2))
    algorithm = FakeAlgorithm(skip=lambda update: update == 1)
    budget = BudgetConfig(minutes=0, updates=2)
    loop = Learner(source, algorithm, config, budget, metrics, replay=ReplayBuffer(4, reuse=2, seed=1))
    assert loop.run(lambda: False, lambda: None)
    assert metrics.counter(names.LEARNED) == metrics.counter(names.REPLAYED) == 8
    assert source.left == 2


def test_skipped_updates_are_counted_and_publish_nothing() -> None:
    source = FakeSource(10)
    loop, metrics = learner(source, FakeAlgorithm(skip=lambda update: update % 2 == 0), updates=3)
    assert loop.run(lambda: False, lambda: None)
    assert source.published == [1, 2, 3]
    assert metrics.counter(names.SKIPPED) == 2


def test_run_stops_with_a_clear_error_after_too_many_skipped_updates_in_a_row() -> None:
    loop, metrics = learner(FakeSource(10), FakeAlgorithm(skip=lambda update: update > 2), updates=9)
    with pytest.raises(TrainingError, match=r"3 updates in a row .* those of update 2"):
        loop.run(lambda: False, lambda: None)
    assert metrics.counter(names.SKIPPED) == 3


def test_stopping_leaves_the_loop_without_an_update() -> None:
    source = FakeSource(10)
    loop, _ = learner(source, FakeAlgorithm(), updates=4)
    assert not loop.run(lambda: True, lambda: None)
    assert source.published == []


def test_time_outside_the_loop_is_not_training_time() -> None:
    now = [0.0]

    def clock_s() -> float:
        now[0] += 1.0
        return now[0]

    def pause() -> None:
        now[0] += 100.0

    source = FakeSource(2)
    budget = BudgetConfig(minutes=0, updates=2)
    loop = Learner(source, FakeAlgorithm(), LearnerConfig(), budget, Metrics(), clock_s=clock_s)
    loop.run(lambda: False, pause)
    assert loop.training_s == 2.0


class SlowSource(FakeSource):
    """Never has a batch: time passes while it is waited for."""

    def __init__(self, pass_time: Callable[[], None]) -> None:
        super().__init__(0)
        self._pass_time = pass_time

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        for _ in range(1000):
            if stopped():
                return None
            self._pass_time()
        raise AssertionError("it waits for ever")


def test_budget_of_minutes_ends_the_wait_for_a_batch() -> None:
    now = [0.0]

    def pass_time() -> None:
        now[0] += 0.2

    loop = Learner(
        SlowSource(pass_time),
        FakeAlgorithm(),
        LearnerConfig(),
        BudgetConfig(minutes=1),
        Metrics(),
        clock_s=lambda: now[0],
    )
    assert loop.run(lambda: False, lambda: None)
    assert 60.0 <= loop.training_s < 60.5
    assert loop.version == 0
