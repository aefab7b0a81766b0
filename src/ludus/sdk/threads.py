"""Who plays matches that wait, all at the same time: a thread for each, or an event loop (looped.py)."""

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
    slot: int
    ticket: int  # tells this job from an earlier one of the slot that was given up
    seed: int
    actions: Mapping[int, int] | None  # None: start with the seed


class Outcome(NamedTuple):
    slot: int
    ticket: int
    turn: Turn | BaseException


Tell = Callable[[Outcome], None]  # from any thread


class Runner(Protocol):
    def begin(self, tell: Tell) -> None: ...

    def play(self, jobs: Sequence[Job]) -> None:
        """Begin them and return; an outcome is told when it is there."""
        ...

    def give_up(self, slot: int) -> None:
        """Its job takes too long: the next one of this slot gets another match."""
        ...

    def close(self, grace_s: float) -> None:
        """End what is under way and close the matches, as far as that is done within this time."""
        ...


class ThreadRunner:
    """A thread cannot be ended from outside: one that is given up stays until its match returns, and is not waited for
    when the host leaves."""

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
            except BaseException as error:  # whatever a game raises loses one match; SystemExit, too
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
