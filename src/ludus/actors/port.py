"""The interface of an actor, as the learner's process sees it, wherever the actor runs.

Implementations: actors/inline.py plays in this process, actors/supervised.py in a child process. Nothing in the
interface assumes a local process: weights, states and batch parts are values that an implementation may carry over a
network, and saved matches are files of the learner's machine that it may fill from bytes.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.actors.in_flight import ActorState
from ludus.league.matchmaking import OpponentNews
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

TICK_S = 0.005  # time between two polls of actors that have no descriptor to wait for


class ActorPort(Protocol):
    """One actor of a run. It fills batch parts: each has the same number of whole segments.

    Call `open`, then `poll` until `spec` is set, then `start` with the first weights, then `poll` until `filled` is not
    0, then `take` and `release`. All calls must come from one thread.

    An actor that fails is restarted by its implementation, with a back-off. If that is given up, or the actor reports
    an error that a restart cannot repair, `poll` raises a LudusError, and so does every later call of it.
    """

    index: int  # number of the actor in its run, from 0

    @property
    def spec(self) -> GameSpec | None:
        """The game that its hosts play; None until they have started for the first time."""
        ...

    @property
    def playing(self) -> bool:
        """False while it starts, waits for a restart, or has been given up."""
        ...

    @property
    def filled(self) -> int:
        """The number of filled parts that were not taken yet."""
        ...

    @property
    def state(self) -> ActorState | None:
        """Its state at the end of the part that was taken last; before the first, the state that it began with."""
        ...

    @property
    def under_way(self) -> int:
        """The number of its matches that have begun and not ended, as it last reported."""
        ...

    def open(self) -> None:
        """Begin to start the actor. Does not wait for it."""
        ...

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        """Let it play with these weights."""
        ...

    def poll(self, timeout_s: float) -> bool:
        """Make progress: handle the actor's messages, restart it if that is due, or play if it is in this process.

        Returns False if nothing happened within `timeout_s`.
        """
        ...

    def fileno(self) -> int | None:
        """Return a descriptor that is readable when `poll` has something to do, or None if there is none."""
        ...

    def take(self) -> SegmentBatch:
        """Return the oldest filled part, which is valid until `release`."""
        ...

    def release(self) -> None:
        """Let the actor overwrite the part that was taken last."""
        ...

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        """Let it play with these weights, of policy version `version`, from now on."""
        ...

    def set_past(self, versions: Sequence[int]) -> None:
        """Set the past selves that may play. Their weights are in the pool of the run's folder."""
        ...

    def tell(self, news: OpponentNews) -> None:
        """Say which members of the league may play, and what other actors have seen."""
        ...

    def begin_save(self, path: Path) -> None:
        """Let it write its matches, and all filled parts that were not taken, to a file of this machine.

        Call `poll` until `saving` is False, then `end_save`; and `poll` no more before the metrics are saved, too.
        Raises TrainingError if it does not play.
        """
        ...

    @property
    def saving(self) -> bool:
        """True until the file is written or its writing has failed."""
        ...

    def end_save(self) -> bool:
        """Return True if the file is written, False if the actor has not answered yet or cannot save its matches.

        Raises OSError if the file could not be written, TrainingError if the actor has died meanwhile.
        """
        ...

    def give_up(self) -> None:
        """Count its matches as lost and close it. For an actor whose `poll` has raised an error, while others
        continue."""
        ...

    def close(self) -> None:
        """End the actor and its hosts. Filled parts stay valid."""
        ...


def wait_for_any(actors: Sequence[ActorPort], timeout_s: float) -> None:
    """Wait until one of the actors may have something to do, at most for `timeout_s`."""
    descriptors = [descriptor for actor in actors if (descriptor := actor.fileno()) is not None]
    if len(descriptors) < len(actors):
        timeout_s = min(timeout_s, TICK_S)
    if descriptors:
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        poll.poll(timeout_s * 1000)
    else:
        time.sleep(timeout_s)
