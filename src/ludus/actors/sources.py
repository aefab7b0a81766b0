"""The source of training batches: takes batch parts from all actors of a run, whichever are ready first.

A run that learns from a dataset has no actors; its source is `data.source.DatasetSource`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.actors import saved_actors
from ludus.actors.in_flight import ActorState
from ludus.actors.parts import PartJoiner
from ludus.actors.port import ActorPort, wait_for_any
from ludus.errors import LudusError, TrainingError
from ludus.league.matchmaking import OpponentNews
from ludus.league.records import merged
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.processes import scheduling
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

POLL_S = 0.2
SAVE_S = 20.0  # longest wait for the actors to save their matches; a checkpoint without them is better than a long stop
LEAVING_S = 10.0  # the same at the end of a run
log = logging.getLogger(__name__)


class ActorSource:
    """Implements `learner.feed.BatchSource` with the actors of a run. `opened` starts and closes them.

    With one actor, its part is the batch. With several, parts make a batch in the order in which they are ready, so
    that an actor that is slow, starting or lost does not keep the others waiting. At most `rollout.queue` filled parts
    of each actor wait while the learner trains on a batch. An actor whose parts all wait
    stops as soon as its next segment is complete, which bounds the lag.

    An actor that has failed for good is counted and left out. The error of the last one is raised.
    """

    def __init__(
        self,
        actors: Sequence[ActorPort],
        metrics: Metrics,
        *,
        parts: int = 0,
        waiting: Sequence[SegmentBatch] = (),
        half_life: float = 1.0,
        more: Callable[[int], Sequence[ActorPort]] = lambda version: (),
    ) -> None:
        """`parts` make a batch; by default, as many as there are actors.

        `waiting` are saved parts that were not trained on; they are the first of the next batch. `half_life` is that of
        results against opponents, in updates. `more` is called with each new policy version and returns actors to add.
        """
        self._actors = tuple(actors)
        self._metrics = metrics
        self._parts = parts or len(actors)
        self._joiner = PartJoiner(self._parts) if self._parts > 1 else None
        self._pending = list(waiting)  # parts from a checkpoint
        self._current: ActorPort | None = None  # the only actor, while the learner trains on its part
        self._next = 0  # index of the actor that is asked first
        self._given_up: set[int] = set()
        self._half_life = half_life
        self._more = more
        self._past: Sequence[int] | None = None  # past selves that may play, once they have changed
        self._news: OpponentNews | None = None

    @contextmanager
    def opened(self) -> Iterator[ActorSource]:
        """Start all actors and wait until their hosts have started. Failures are raised at once."""
        scheduling_changed = False
        try:
            for actor in self._actors:
                actor.open()
            while waiting := [actor for actor in self._actors if actor.spec is None]:
                self._poll(waiting, POLL_S)
            self._refuse_different_games()
            scheduling.set_time_slice(scheduling.LONG_S)
            scheduling_changed = True
            yield self
        finally:
            if scheduling_changed:
                scheduling.set_time_slice(scheduling.DEFAULT_S)
            for actor in reversed(self._actors):
                actor.close()

    @property
    def spec(self) -> GameSpec:
        """The spec of the game that the hosts play."""
        spec = self._actors[0].spec
        assert spec is not None
        return spec

    @property
    def under_way(self) -> int:
        """The number of matches of all actors that have begun and not ended, as they last reported."""
        return sum(actor.under_way for actor in self._actors)

    @property
    def position(self) -> None:
        """None: there is no dataset."""

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        """Let all actors play with these weights."""
        for actor in self._actors:
            actor.start(weights, version)
        self._count_playing()

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        """Return the next batch, which is valid until `release`, or None as soon as `stopped()` returns True."""
        while not stopped():
            progress = self._poll(self._alive(), 0 if self._filled() else POLL_S)
            if progress and not self._joiner:
                continue
            batch = self._take()
            if batch is not None:
                self._count_playing()
                self._metrics.set(names.QUEUE, self._filled() / self._parts)
                return batch
        return None

    def ready(self) -> bool:
        """Return True if `next` would return a batch without waiting."""
        self.catch_up()
        if self._joiner is None:
            return self._filled() > 0
        return self._joiner.missing <= self._filled() + len(self._pending)

    def catch_up(self) -> None:
        """Handle all messages that the actors have sent, without waiting."""
        while self._poll(self._alive(), 0):
            pass

    def release(self) -> None:
        """Let the only actor overwrite its part. Parts of several actors were copied and released before."""
        if self._current is not None:
            actor, self._current = self._current, None
            actor.release()

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        for actor in self._alive():
            actor.publish(weights, version)
        if self._joiner is not None:
            self._add(self._more(version), weights, version)
        if self._news is not None and len(self._actors) > 1:
            self.tell(self._news)

    def set_past(self, versions: Sequence[int]) -> None:
        self._past = list(versions)
        for actor in self._alive():
            actor.set_past(versions)

    def tell(self, news: OpponentNews) -> None:
        """Tell all actors which members of the league may play. Each also hears the results of all others, now and
        after each update."""
        self._news = news
        records = [{} if state is None else state.matchmaker.records for state in self.states()]
        for actor in self._alive():
            others = [each for index, each in enumerate(records) if index != actor.index]
            actor.tell(msgspec.structs.replace(news, others=merged(others, self._half_life)))

    def states(self) -> list[ActorState | None]:
        """Return the state of each actor at the end of its part that was taken last.

        Before the first part, that is the state that it began with, which may be None.
        """
        return [actor.state for actor in self._actors]

    def save(self, path: Path, *, leaving: bool = False) -> bool:
        """Let the actors write their matches, and the parts that were not trained on, to a file.

        Returns False if none of them can do so in time; they have less time if `leaving` (the run ends). Raises OSError
        if the file cannot be written, TrainingError if no actor plays, and the error of an actor that has failed.
        """
        wait_s = LEAVING_S if leaving else SAVE_S
        if self._joiner is None:
            return saved_actors.save_one(self._actors[0], path, wait_s)
        waiting = [*self._joiner.waiting(), *self._pending]
        return saved_actors.save_all(self._alive(), len(self._actors), path, wait_s, waiting)

    def _add(self, actors: Sequence[ActorPort], weights: NDArray[np.float32], version: int) -> None:
        for actor in actors:
            actor.open()
            actor.start(weights, version)
            if self._past is not None:
                actor.set_past(self._past)
            self._actors = (*self._actors, actor)
            self._metrics.add(names.ACTORS_ADDED)
        if actors:
            self._count_playing()

    def _take(self) -> SegmentBatch | None:
        """Return a batch if it is complete: the part of the only actor, or the joined parts of several."""
        if self._joiner is None:
            if not self._actors[0].filled:
                return None
            self._current = self._actors[0]
            return self._current.take()
        while self._pending:
            batch = self._joiner.add(self._pending.pop(0))
            if batch is not None:
                return batch
        count = len(self._actors)
        for actor in [self._actors[(self._next + each) % count] for each in range(count)]:
            if not actor.filled:
                continue
            self._next = (actor.index + 1) % count
            batch = self._joiner.add(actor.take())
            actor.release()
            if batch is not None:
                return batch
        return None

    def _filled(self) -> int:
        return sum(actor.filled for actor in self._actors)

    def _alive(self) -> list[ActorPort]:
        return [actor for actor in self._actors if actor.index not in self._given_up]

    def _poll(self, actors: Sequence[ActorPort], timeout_s: float) -> bool:
        """Poll actors until one has done something or the time is up. Returns False if none has."""
        if len(actors) == 1:
            return self._poll_one(actors[0], timeout_s)
        progress = [self._poll_one(actor, 0) for actor in actors]
        if not any(progress) and timeout_s > 0:
            wait_for_any(actors, timeout_s)
        return any(progress)

    def _poll_one(self, actor: ActorPort, timeout_s: float) -> bool:
        try:
            progress = actor.poll(timeout_s)
        except LudusError as error:
            self._give_up(actor, error)
            return True
        return progress

    def _give_up(self, actor: ActorPort, error: LudusError) -> None:
        """Go on without an actor that has failed for good. Raises the error if it is the last one, or did not start."""
        others = [each for each in self._alive() if each is not actor]
        if not others or any(each.spec is None for each in self._actors):
            raise error
        self._given_up.add(actor.index)
        actor.give_up()
        self._metrics.add(names.ACTORS_GIVEN_UP)
        log.warning("%s; the run goes on with %d of %d actors", error, len(others), len(self._actors))
        self._count_playing()

    def _count_playing(self) -> None:
        self._metrics.set(names.ACTORS_TOTAL, len(self._actors))
        self._metrics.set(names.ACTORS_PLAYING, sum(actor.playing for actor in self._alive()))

    def _refuse_different_games(self) -> None:
        fingerprints = {actor.spec.fingerprint for actor in self._actors if actor.spec is not None}
        if len(fingerprints) > 1:
            raise TrainingError(
                "the hosts of the actors describe different games; does the game depend on the number of its host "
                "(LUDUS_HOST), or was its program changed during the start?"
            )


"""Where the batches of a run come from."""
