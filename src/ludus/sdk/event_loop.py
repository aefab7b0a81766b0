"""Plays async matches in an event loop. A module of its own, so that other hosts start without importing asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

from ludus.sdk.match import AsyncMatch, Closable, Match, Turn
from ludus.sdk.punctual_loop import punctual_loop
from ludus.sdk.threads import Job, Outcome, Tell


class LoopRunner:
    """A `Runner` for async matches: one event loop in a thread of its own, so that matches cannot block the host."""

    def __init__(self, make: Callable[[], Match | AsyncMatch], slots: int, first: AsyncMatch) -> None:
        self._make = cast(Callable[[], AsyncMatch], make)
        self._matches: list[AsyncMatch | None] = [first, *(None for _ in range(slots - 1))]
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        self._orders: deque[Job | int] = deque()  # jobs to start, and slots whose match is given up
        self._loop = punctual_loop()
        self._thread = threading.Thread(target=self._run, name="matches", daemon=True)

    def begin(self, tell: Tell) -> None:
        self._tell = tell
        self._thread.start()

    def play(self, jobs: Sequence[Job]) -> None:
        self._order(jobs)

    def give_up(self, slot: int) -> None:
        self._order((slot,))

    def close(self, grace_s: float) -> None:
        stopping = asyncio.run_coroutine_threadsafe(self._stop(grace_s), self._loop)
        self._thread.join(2 * grace_s)
        if not self._thread.is_alive():
            stopping.result()

    def _order(self, orders: Sequence[Job | int]) -> None:
        self._orders.extend(orders)
        if len(self._orders) <= len(orders):  # else the loop was woken for earlier orders already
            self._loop.call_soon_threadsafe(self._take)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _take(self) -> None:
        while self._orders:
            order = self._orders.popleft()
            if isinstance(order, Job):
                self._tasks[order.slot] = self._loop.create_task(self._play(order))
            else:
                self._retire(order)

    async def _play(self, job: Job) -> None:
        turn: Turn | BaseException
        try:
            match = self._matches[job.slot]
            if match is None:
                match = self._matches[job.slot] = self._make()
            turn = await (match.start(job.seed) if job.actions is None else match.advance(job.actions))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # any exception of a game, even SystemExit, voids one match
            turn = error
        self._tell(Outcome(job.slot, job.ticket, turn))

    def _retire(self, slot: int) -> None:
        """Cancel the task of a slot, then close its match."""
        match, self._matches[slot] = self._matches[slot], None
        task = self._tasks.pop(slot, None)
        if task is not None:
            task.cancel()
        retiring = self._loop.create_task(self._bury(task, match))
        self._retiring.add(retiring)
        retiring.add_done_callback(self._retiring.discard)

    async def _bury(self, task: asyncio.Task[None] | None, match: AsyncMatch | None) -> None:
        if task is not None:
            await asyncio.wait([task])
        if not isinstance(match, Closable):
            return
        try:
            closed = match.close()
            if inspect.isawaitable(closed):
                await closed
        except Exception:
            traceback.print_exc()

    async def _stop(self, grace_s: float) -> None:
        for slot in range(len(self._matches)):
            self._retire(slot)
        if self._retiring:
            await asyncio.wait(self._retiring, timeout=grace_s)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        self._loop.call_soon(self._loop.stop)
