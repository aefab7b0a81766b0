"""Runs matches that wait at the same time, each in a thread. `event_loop` does the same for async matches."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from ludus.sdk.match import AsyncMatch, Closable, Match, MatchGroup, Turn
from ludus.sdk.one_core import OneCore


class Job(NamedTuple):
    """One call of `start` or `advance` on the match in a slot."""

    slot: int
    ticket: int  # unique, so that outcomes of jobs that were given up can be ignored
    seed: int
    actions: Mapping[int, int] | None  # None: start a match with the seed


class Outcome(NamedTuple):
    """The result of a `Job`: the next turn, or the exception that the match raised."""

    slot: int
    ticket: int
    turn: Turn | BaseException


Tell = Callable[[Outcome], None]  # may be called from any thread


class Runner(Protocol):
    """Runs the jobs of all slots at the same time, outside of the thread that calls it."""

    def begin(self, tell: Tell) -> None:
        """Start the runner. It calls `tell` with the outcome of each job."""
        ...

    def play(self, jobs: Sequence[Job]) -> None:
        """Start these jobs and return at once."""
        ...

    def give_up(self, slot: int) -> None:
        """Abandon the job of a slot that takes too long. The next job of this slot gets a new match."""
        ...

    def close(self, grace_s: float) -> None:
        """Stop the jobs and close the matches. `grace_s` limits each wait for them, in seconds."""
        ...


class ThreadRunner:
    """A `Runner` with one thread per slot.

    A thread cannot be ended from outside. A thread that is given up runs until its match returns, and the host does not
    wait for it when it stops.
    """

    def __init__(self, make: Callable[[], Match | AsyncMatch], slots: int) -> None:
        self._make = cast(Callable[[], Match], make)
        self._slots = slots
        self._core = OneCore()

    def begin(self, tell: Tell) -> None:
        self._tell = tell
        self._workers = [self._worker(slot) for slot in range(self._slots)]
        self._core.begin()

    def play(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._workers[job.slot][1].put(job)

    def give_up(self, slot: int) -> None:
        self._workers[slot][1].put(None)
        self._workers[slot] = self._worker(slot)

    def close(self, grace_s: float) -> None:
        end_s = time.monotonic() + grace_s
        self._core.close()
        for _, inbox in self._workers:
            inbox.put(None)
        for thread, _ in self._workers:
            thread.join(max(0.0, end_s - time.monotonic()))

    def _worker(self, slot: int) -> tuple[threading.Thread, queue.SimpleQueue[Job | None]]:
        inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        thread = threading.Thread(target=self._work, args=(inbox,), name=f"slot {slot}", daemon=True)
        thread.start()
        return thread, inbox

    def _work(self, inbox: queue.SimpleQueue[Job | None]) -> None:
        match: Match | None = None
        while (job := inbox.get()) is not None:
            turn: Turn | BaseException
            try:
                if match is None:
                    match = self._make()
                turn = match.start(job.seed) if job.actions is None else match.advance(job.actions)
            except BaseException as error:  # any exception of a game, even SystemExit, voids one match
                turn = error
            self._tell(Outcome(job.slot, job.ticket, turn))
        close(match)


def close(match: Match | MatchGroup | None) -> None:
    """Call the match's `close`, if it has one. An exception in it is printed to stderr only."""
    if not isinstance(match, Closable):
        return
    try:
        match.close()
    except Exception:
        traceback.print_exc()
