"""The two sources of training batches: an actor in this process (serial) or in a child process (overlapped).

Both implement `learner.feed.BatchSource`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ludus.actors.actor import Actor
from ludus.actors.in_flight import ActorState
from ludus.actors.resolved import ResolvedRun
from ludus.actors.supervised import ActorPhase, SupervisedActor
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.processes import scheduling
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

POLL_S = 0.2
SILENCE_S = 120.0  # an actor reports every second; one that sends nothing for this long is restarted
SAVE_S = 20.0  # longest wait for the actor to save its matches; a checkpoint without them is better than a long stop
LEAVING_S = 10.0  # the same at the end of a run


class SerialSource:
    """Plays in this process when `next` is called. The same seed gives the same batches."""

    def __init__(self, actor: Actor, metrics: Metrics) -> None:
        self._actor = actor
        self._metrics = metrics
        self._batch = actor.layout.allocate()
        self._resting = actor.metrics.activity(names.HAND_OVER)
        self.spec = actor.spec

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)
        self._actor.metrics.begin()

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        self._resting.__exit__(None, None, None)
        full = self._actor.play(self._batch, stopped)
        self._resting.__enter__()  # the time until the next call is the learner's
        self._metrics.merge(self._actor.drain())
        return self._batch if full else None

    def ready(self) -> bool:
        """Return False: a batch is played only when `next` is called."""
        return False

    def catch_up(self) -> None:
        """Add the actor's metrics to those of the run."""
        self._metrics.merge(self._actor.drain())

    def release(self) -> None:
        """Do nothing: the next call of `next` fills the batch again."""

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._actor.set_past(versions)

    def state(self) -> ActorState:
        return self._actor.state()

    def save(self, path: Path, *, leaving: bool = False) -> bool:
        """Write the running matches into a file. Returns False if the fleet cannot save its matches. Raises OSError."""
        return self._actor.save(path)


class OverlappedSource:
    """Provides batches from an actor in a process of its own, which plays while this process learns.

    At most `rollout.queue` full batches wait while the learner trains on another. If all buffers are full, the actor
    stops as soon as its next segment is complete, which bounds the lag. An actor that dies or falls silent is restarted
    (actors/supervised.py). An error that it reports is raised here.
    """

    def __init__(
        self,
        run: ResolvedRun,
        run_dir: Path,
        metrics: Metrics,
        *,
        pool: Sequence[int],
        state: ActorState | None,
        matches: Path | None = None,
    ) -> None:
        self._metrics = metrics
        self._actor = SupervisedActor(run, run_dir, metrics, pool=pool, state=state, matches=matches)

    def __enter__(self) -> Self:
        self._actor.open(POLL_S)
        scheduling.set_time_slice(scheduling.LONG_S)
        self.spec: GameSpec = self._actor.spec
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scheduling.set_time_slice(scheduling.DEFAULT_S)
        self._actor.close()

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        """Create the shared memory with these weights in it, and let the actor play."""
        self._actor.start(weights, version)

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        actor, heard_s = self._actor, time.monotonic()
        while not stopped():
            if actor.poll(0 if actor.filled else POLL_S):
                heard_s = time.monotonic()
            elif actor.filled:
                batch = actor.take()
                self._metrics.set(names.QUEUE, len(actor.filled))
                return batch
            elif actor.phase is ActorPhase.PLAYING and time.monotonic() - heard_s > SILENCE_S:
                actor.give_up_on(f"sent nothing for {SILENCE_S:.0f} s")
        return None

    def ready(self) -> bool:
        self.catch_up()
        return bool(self._actor.filled)

    def catch_up(self) -> None:
        """Handle all messages of the actor that have arrived."""
        while self._actor.poll(0):
            pass

    def release(self) -> None:
        self._actor.release()

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.publish(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._actor.set_past(versions)

    def state(self) -> ActorState | None:
        """Return the actor's state at the end of the last batch that `next` returned.

        Before the first batch, returns the `state` that the run began with, which may be None.
        """
        return self._actor.state

    def save(self, path: Path, *, leaving: bool = False) -> bool:
        """Let the actor write its matches, and the batches that wait here, to a file.

        Returns False if it does not answer in time; it has less time if `leaving` (the run ends). Raises OSError if it
        cannot write, TrainingError if it is not playing, and the error of an actor that has failed.
        """
        return self._actor.save(path, LEAVING_S if leaving else SAVE_S)
