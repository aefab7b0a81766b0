"""The source of a run that plays and also learns from a dataset: batches of both, in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.actors.in_flight import ActorState
from ludus.actors.sources import ActorSource
from ludus.data.source import DatasetSource
from ludus.league.matchmaking import OpponentNews
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


class MixedSource:
    """Implements `learner.feed.BatchSource` with the actors of a run and a dataset.

    The number of the update decides which of them supplies its batch, so a resumed run goes on in the same order. While
    the learner trains on recorded decisions, the actors fill the next batch.
    """

    def __init__(self, actors: ActorSource, dataset: DatasetSource, live: float) -> None:
        """`live` is the share of the updates that learn from played matches (`data.live`)."""
        self._actors, self._dataset, self._live = actors, dataset, live
        self._version = 0
        self.is_recorded = False  # whether the last batch comes from the dataset

    @property
    def spec(self) -> GameSpec:
        return self._actors.spec

    @property
    def under_way(self) -> int:
        return self._actors.under_way

    @property
    def position(self) -> list[int]:
        """The position of the sampler, which a checkpoint holds."""
        return self._dataset.sampled

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self._version = version
        self._actors.start(weights, version)
        self._dataset.start(weights, version)

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        """Return the next batch, which is valid until `release`, or None as soon as `stopped()` returns True."""
        self.is_recorded = not is_played(self._version, self._live)
        if self.is_recorded:
            self._actors.catch_up()
            return self._dataset.next(stopped)
        return self._actors.next(stopped)

    def ready(self) -> bool:
        """Return True if `next` would return a batch without waiting."""
        return not is_played(self._version, self._live) or self._actors.ready()

    def catch_up(self) -> None:
        self._actors.catch_up()

    def release(self) -> None:
        if not self.is_recorded:
            self._actors.release()

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._version = version
        self._actors.publish(weights, version)
        self._dataset.publish(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._actors.set_past(versions)

    def tell(self, news: OpponentNews) -> None:
        self._actors.tell(news)

    def states(self) -> list[ActorState | None]:
        return self._actors.states()

    def save(self, path: Path, *, leaving: bool = False) -> bool:
        """Let the actors write their matches to a file; the position in the dataset is not in it."""
        return self._actors.save(path, leaving=leaving)


def is_played(version: int, live: float) -> bool:
    """Return whether the update after `version` learns from played matches: a share `live` of all, evenly spread."""
    return math.floor((version + 1) * live) > math.floor(version * live)
