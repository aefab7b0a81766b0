"""What is learned from next: batches from the source, less what is too old, and between them some once more."""

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
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.files import reading
from ludus.types import SegmentBatch

log = logging.getLogger(__name__)


class BatchSource(Protocol):
    """Where batches come from and new weights go: this process in serial mode, an actor's in overlapped mode."""

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        """The next batch, valid until `release`. None when `stopped`, asked at least a few times a second, said so."""
        ...

    def ready(self) -> bool:
        """Whether `next` has a batch at once."""
        ...

    def release(self) -> None: ...

    def publish(self, weights: NDArray[np.float32], version: int) -> None: ...


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    batch: SegmentBatch  # valid until the source's `release`
    fresh: bool  # for the first time


class Feed:
    """Counts what it drops. With a `replay`, every fresh batch lets up to `reuse - 1` others follow, for as long as the
    next fresh one is not there."""

    def __init__(
        self, source: BatchSource, metrics: Metrics, config: LearnerConfig, replay: ReplayBuffer | None = None
    ) -> None:
        self._source = source
        self._metrics = metrics
        self._max_lag = config.max_lag
        self._replay = replay
        self._reuse = config.replay.reuse
        self._due = 0  # replayed batches before the next fresh one
        self._segments = 0  # in the last batch that came, with those that were too old
        self._warned = False

    def next(self, stopped: Callable[[], bool], version: int) -> TrainingBatch | None:
        """For the update after `version`. None when `stopped`, asked at least a few times a second, said so."""
        oldest = version - self._max_lag if self._max_lag else 0
        if self._due and not self._source.ready():
            if stopped():
                return None
            batch = self._again(oldest)
            if batch is not None:
                return TrainingBatch(batch, fresh=False)
        while (batch := self._source.next(stopped)) is not None:
            young = self._young(batch, oldest)
            if young is not None:
                return TrainingBatch(young, fresh=True)
            self._source.release()
        return None

    def learned(self, lesson: TrainingBatch) -> None:
        """Call after an update by it and before `release`; what cannot be learned from would do harm again."""
        if self._replay is not None and lesson.fresh:
            self._replay.add(lesson.batch)
            self._due = self._reuse - 1
            self._metrics.set(names.REPLAY, self._replay.decisions)

    def save(self, path: Path) -> bool:
        """Write what may come again into a file that is on the disk when this returns; False: nothing may. Raises
        OSError."""
        if self._replay is None:
            return False
        arrays = {**self._replay.state(), "due": np.array([self._due, self._segments])}
        try:
            save_file(arrays, path)
        except SafetensorError as error:  # a full disk, in its words
            raise OSError(str(error)) from error
        with path.open("rb") as file:
            os.fsync(file.fileno())
        return True

    def restore(self, path: Path) -> None:
        """Go on with what `save` wrote. Raises CheckpointError where that does not fit this run."""
        if self._replay is None:
            return
        with reading(path, "cannot go on with"):
            arrays = load_file(checksums.verified(path))
            due, segments = (int(number) for number in arrays["due"])
            self._replay.restore(arrays)
        self._due, self._segments = due, segments
        self._metrics.set(names.REPLAY, self._replay.decisions)

    def _again(self, oldest: int) -> SegmentBatch | None:
        assert self._replay is not None
        batch = self._replay.draw(self._segments, oldest=oldest)
        self._due = 0 if batch is None else self._due - 1
        self._metrics.set(names.REPLAY, self._replay.decisions)
        return batch

    def _young(self, batch: SegmentBatch, oldest: int) -> SegmentBatch | None:
        """The segments without a decision that is too old; None when there is none."""
        self._segments = len(batch.action)
        is_young = batch.version.min(axis=1) >= oldest
        if is_young.all():
            return batch
        self._metrics.add(names.DROPPED, int((~is_young).sum()) * batch.action.shape[1])
        if is_young.any():
            return batch.take(is_young)
        if not self._warned:
            self._warned = True
            log.warning(
                "a whole batch was older than learner.max_lag: %d versions (its youngest segment %d) and was dropped; "
                "%s counts what is lost like this",
                self._max_lag,
                oldest + self._max_lag - int(np.max(batch.version.min(axis=1))),
                names.DROPPED,
            )
        return None
