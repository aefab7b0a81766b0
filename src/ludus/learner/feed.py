"""Supplies the learner with batches: fresh ones without stale segments, interleaved with replayed ones."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ludus.config.settings import LearnerConfig
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checksums, old_names
from ludus.policies.checkpoints.read_errors import reading
from ludus.types import SegmentBatch

log = logging.getLogger(__name__)


class BatchSource(Protocol):
    """Provides batches and receives new weights: this process in serial mode, an actor process in overlapped mode."""

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        """Return the next batch, which is valid until `release`.

        Returns None as soon as `stopped()` returns True; it is called at least a few times per second.
        """
        ...

    def ready(self) -> bool:
        """Return True if `next` would return a batch without waiting."""
        ...

    def release(self) -> None:
        """Allow the memory of the last batch to be overwritten."""
        ...

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        """Let the actor play with these weights, of policy version `version`."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """The batch of one update."""

    batch: SegmentBatch  # valid until the source's `release`
    fresh: bool  # False if it comes from the replay buffer


class Feed:
    """Supplies batches, and counts the decisions of dropped segments, which are older than `learner.max_lag`.

    With a replay buffer, each fresh batch is followed by up to `reuse - 1` replayed ones while the next fresh batch is
    not ready.
    """

    def __init__(
        self, source: BatchSource, metrics: Metrics, config: LearnerConfig, replay: ReplayBuffer | None = None
    ) -> None:
        self._source = source
        self._metrics = metrics
        self._max_lag = config.max_lag
        self._replay = replay
        self._reuse = config.replay.reuse
        self._due = 0  # replayed batches to return before the next fresh one
        self._segments = 0  # in the last fresh batch, stale ones included
        self._warned = False

    def next(self, stopped: Callable[[], bool], version: int) -> TrainingBatch | None:
        """Return the batch for the update after `version`.

        Returns None as soon as `stopped()` returns True; it is called at least a few times per second.
        """
        oldest = version - self._max_lag if self._max_lag else 0
        if self._due and not self._source.ready():
            if stopped():
                return None
            batch = self._replayed(oldest)
            if batch is not None:
                return TrainingBatch(batch, fresh=False)
        while (batch := self._source.next(stopped)) is not None:
            recent = self._recent(batch, oldest)
            if recent is not None:
                return TrainingBatch(recent, fresh=True)
            self._source.release()
        return None

    def learned(self, trained: TrainingBatch) -> None:
        """Add a fresh batch to the replay buffer.

        Call after a successful update and before `release`. Do not call it after a skipped update, or the bad batch
        enters the replay buffer.
        """
        if self._replay is not None and trained.fresh:
            self._replay.add(trained.batch)
            self._due = self._reuse - 1
            self._metrics.set(names.REPLAY, self._replay.decisions)

    def save(self, path: Path) -> bool:
        """Save the replay buffer to `path` (fsynced). Returns False if replay is disabled. Raises OSError."""
        if self._replay is None:
            return False
        arrays = {**self._replay.state(), "due": np.array([self._due, self._segments])}
        try:
            save_file(arrays, path)
        except SafetensorError as error:  # how safetensors reports a full disk
            raise OSError(str(error)) from error
        with path.open("rb") as file:
            os.fsync(file.fileno())
        return True

    def restore(self, path: Path) -> None:
        """Restore the replay buffer that `save` wrote. Raises CheckpointError if it does not fit this run."""
        if self._replay is None:
            return
        with reading(path, "cannot go on with"):
            arrays = old_names.current_arrays(load_file(checksums.verified(path)))
            due, segments = (int(number) for number in arrays["due"])
            self._replay.restore(arrays)
        self._due, self._segments = due, segments
        self._metrics.set(names.REPLAY, self._replay.decisions)

    def _replayed(self, oldest: int) -> SegmentBatch | None:
        assert self._replay is not None
        batch = self._replay.draw(self._segments, oldest=oldest)
        self._due = 0 if batch is None else self._due - 1
        self._metrics.set(names.REPLAY, self._replay.decisions)
        return batch

    def _recent(self, batch: SegmentBatch, oldest: int) -> SegmentBatch | None:
        """Return the segments without a decision of a version before `oldest`, or None if there are none."""
        self._segments = len(batch.action)
        recent = batch.version.min(axis=1) >= oldest
        if recent.all():
            return batch
        self._metrics.add(names.DROPPED, int((~recent).sum()) * batch.action.shape[1])
        if recent.any():
            return batch.take(recent)
        if not self._warned:
            self._warned = True
            log.warning(
                "a whole batch was dropped: its segments were older than learner.max_lag: %d versions (the youngest "
                "was %d versions old); %s counts dropped decisions",
                self._max_lag,
                oldest + self._max_lag - int(np.max(batch.version.min(axis=1))),
                names.DROPPED,
            )
        return None
