"""The learner's loop: take a batch, update, publish the new weights, until the budget is used up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from ludus.config.settings import BudgetConfig, LearnerConfig
from ludus.errors import TrainingError
from ludus.learner.feed import BatchSource, Feed, TrainingBatch
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.weights import FlatWeights
from ludus.types import SegmentBatch


class Updater(Protocol):
    """The interface of an algorithm, as far as the loop uses it."""

    weights: FlatWeights

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """Make one update and return the numbers to report, by their names in metrics.names.

        Counters grow by their number.

        Returns {names.SKIPPED: 1} if the update was skipped because the batch was unusable. If names.LEARNED is
        missing, all decisions of the batch count as learned.
        """
        ...


class Learner:
    """Runs the updates. `version` counts them, `training_s` the seconds spent; both continue from a checkpoint."""

    def __init__(
        self,
        source: BatchSource,
        algorithm: Updater,
        config: LearnerConfig,
        budget: BudgetConfig,
        metrics: Metrics,
        *,
        replay: ReplayBuffer | None = None,
        version: int = 0,
        training_s: float = 0.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.version = version
        self.training_s = training_s
        self._source = source
        self.feed = Feed(source, metrics, config, replay)
        self._algorithm = algorithm
        self._config = config
        self._budget = budget
        self._metrics = metrics
        self._clock_s = clock_s
        self._skipped_in_a_row = 0

    @property
    def used(self) -> float:
        """The share of the budget that is used up, by the limit that is closest to its end; 0 without limits."""
        return used(
            self._budget, training_s=self.training_s, learned=self._metrics.counter(names.LEARNED), updates=self.version
        )

    def run(self, stopped: Callable[[], bool], after_update: Callable[[], None]) -> bool:
        """Make updates until the budget is used up and return True, or return False if `stopped()` returns True before.

        Calls `after_update` after each successful update; its time does not count against the budget. Waiting for a
        batch ends when the minutes of the budget are used up.
        """
        while self.used < 1:
            began_s = self._clock_s()
            with self._metrics.activity(names.WAIT_BATCH):
                training_batch = self._wait(stopped, began_s)
            updated = training_batch is not None and self._update(training_batch)
            self.training_s += self._clock_s() - began_s
            if training_batch is None:
                return self.used >= 1
            if updated:
                after_update()
        return True

    def _wait(self, stopped: Callable[[], bool], began_s: float) -> TrainingBatch | None:
        """Return the next batch, or None if `stopped()` returns True or the minutes of the budget are used up."""
        limit_s = self._budget.minutes * 60

        def late() -> bool:
            return self.training_s + self._clock_s() - began_s >= limit_s

        return self.feed.next(lambda: stopped() or (limit_s > 0 and late()), self.version)

    def _update(self, training_batch: TrainingBatch) -> bool:
        metrics, batch = self._metrics, training_batch.batch
        lag = self.version - batch.version
        with metrics.activity(names.UPDATE):
            numbers = self._algorithm.update(batch, learning_rate(self._config, self.used))
        if names.SKIPPED not in numbers:
            self.feed.learned(training_batch)
        self._source.release()
        if names.SKIPPED in numbers:
            metrics.add(names.NON_FINITE, numbers.get(names.NON_FINITE, 0.0))
            self._skip()
            return False
        self._skipped_in_a_row = 0
        self.version += 1
        with metrics.activity(names.PUBLISH):
            self._source.publish(self._algorithm.weights.numpy(), self.version)
        metrics.add(names.UPDATES)
        if names.RECORDED not in numbers:
            metrics.observe(names.LAG, float(lag.mean()))
            metrics.set(names.LAG_MAX, float(lag.max()))
        learned = names.LEARNED if training_batch.fresh else names.REPLAYED
        for name, value in {learned: batch.decisions, **numbers}.items():
            self._count(name, value)
        return True

    def _count(self, name: str, value: float) -> None:
        kind = names.KINDS.get(name, "mean")
        if kind == "counter":
            self._metrics.add(name, value)
        elif kind == "gauge":
            self._metrics.set(name, value)
        else:
            self._metrics.observe(name, value)

    def _skip(self) -> None:
        self._metrics.add(names.SKIPPED)
        self._skipped_in_a_row += 1
        if self._skipped_in_a_row >= self._config.skipped_in_a_row:
            raise TrainingError(
                f"{self._skipped_in_a_row} updates in a row had a loss or gradient that is not finite; the weights are "
                f"those of update {self.version}. Look for extreme rewards or observations, or lower learner.lr"
            )


def used(budget: BudgetConfig, *, training_s: float, learned: float, updates: int) -> float:
    """Return the used share of the budget, by the limit that is closest to its end; 0 without limits."""
    limits = (
        (training_s / 60, budget.minutes),
        (learned, float(budget.decisions)),
        (float(updates), float(budget.updates)),
    )
    return max((spent / limit for spent, limit in limits if limit), default=0.0)


def learning_rate(config: LearnerConfig, used: float) -> float:
    """Return the learning rate for the used share of the budget: lr at first, then by `lr_schedule` towards lr_end."""
    used = min(max(used, 0.0), 1.0)
    if config.lr_schedule == "constant":
        return config.lr
    share = 1 - used if config.lr_schedule == "linear" else (1 + math.cos(math.pi * used)) / 2
    return config.lr_end + (config.lr - config.lr_end) * share
