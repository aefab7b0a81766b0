"""The actor of `mode: serial`: plays in this process, whenever it is polled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.actors.actor import Actor
from ludus.actors.in_flight import ActorState
from ludus.league.matchmaking import OpponentNews
from ludus.metrics import names
from ludus.metrics.accounts import MatchAccount
from ludus.metrics.core import Metrics
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


class InlineActor:
    """Implements `ActorPort` with an `Actor` of this process, which the caller opens and closes.

    It plays when `poll` is called and its part is not full, so the same seed gives the same parts.
    """

    def __init__(self, actor: Actor, metrics: Metrics, *, under_way: int = 0, index: int = 0) -> None:
        """`under_way` is the number of matches that the actor continues."""
        self.index = index
        self._actor = actor
        self._metrics = metrics
        self._ledger = MatchAccount(under_way)
        if under_way:
            metrics.set(names.UNDER_WAY, under_way, index)
        self._part = actor.layout.allocate()
        self._full = False
        self._in_use = False
        self._saved: bool | OSError = False
        self._resting = actor.metrics.activity(names.HAND_OVER)

    @property
    def spec(self) -> GameSpec:
        return self._actor.spec

    @property
    def playing(self) -> bool:
        return True

    @property
    def filled(self) -> int:
        return int(self._full)

    @property
    def state(self) -> ActorState:
        return self._actor.state()

    @property
    def under_way(self) -> int:
        return self._ledger.matches

    def open(self) -> None:
        """Do nothing: the hosts have started with the actor."""

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)
        self._actor.metrics.begin()

    def poll(self, timeout_s: float) -> bool:
        """Play until the part is full or the time is up. With `timeout_s=0`, play nothing and only collect the
        metrics."""
        played = not self._full and not self._in_use and timeout_s > 0
        if played:
            until_s = time.monotonic() + timeout_s
            self._resting.__exit__(None, None, None)
            self._full = self._actor.play(self._part, lambda: time.monotonic() >= until_s)
            self._resting.__enter__()  # the time until the next call is the learner's
        delta = self._actor.drain()
        self._ledger.count(delta)
        self._metrics.merge(delta, self.index)
        return played

    def fileno(self) -> None:
        """Return None: this actor only works inside `poll`, so there is nothing to wait for."""

    def take(self) -> SegmentBatch:
        self._full, self._in_use = False, True
        return self._part

    def release(self) -> None:
        self._in_use = False

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._actor.set_past(versions)

    def tell(self, news: OpponentNews) -> None:
        self._actor.tell(news)

    def begin_save(self, path: Path) -> None:
        """Write the matches now, with a full part that was not taken."""
        try:
            self._saved = self._actor.save(path, [self._part] if self._full else [])
        except OSError as error:
            self._saved = error
        self.poll(0)

    @property
    def saving(self) -> bool:
        return False

    def end_save(self) -> bool:
        """Return whether the matches were saved: False if the fleet cannot save them. Raises OSError."""
        if isinstance(self._saved, OSError):
            raise self._saved
        return self._saved

    def give_up(self) -> None:
        """Do nothing: the run ends without its only actor."""

    def close(self) -> None:
        """Do nothing: the caller closes the fleet."""
