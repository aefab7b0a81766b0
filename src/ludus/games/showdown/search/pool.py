"""Runs searches of several decisions at once, each on a process of its own, and answers in time."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostError
from ludus.games.showdown.search.process import START_DEADLINE_S, SearchAnswer, SearchProcess
from ludus.processes.cores import cores
from ludus.spec import GameSpec

LATE_S = 10.0  # a process that is this late with an answer is started again


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """Asks the search process of this decision. The answer is (SearchAnswer, bytes), or None when the time is up."""

    message: dict[str, Any]  # Any: JSON
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class LeafEvaluation:
    """Asks the net about rows. The answer is what the pool's `evaluate` returns for them."""

    obs: NDArray[np.uint8]  # [n, nbytes]
    legal: NDArray[np.bool_]  # [n, A]


Evaluated = tuple[NDArray[np.float64], NDArray[np.float64]]  # log-probabilities [n, A], values [n]
Evaluate = Callable[[NDArray[np.uint8], NDArray[np.bool_]], Evaluated]
Search = Generator[SearchQuestion | LeafEvaluation, Any, int]  # Any: the answer to either. Returns the action


@dataclass(slots=True)
class _Worker:
    process: SearchProcess
    ready: bool = False
    late_since_s: float = 0.0  # since when it owes an answer that nobody waits for; 0: it owes none


@dataclass(slots=True)
class _Running:
    place: int
    search: Search
    worker: _Worker
    until_s: float
    request: SearchQuestion | LeafEvaluation | None = None


@dataclass(slots=True)
class SearchPool:
    """The search processes of one policy. They are started when they are first needed."""

    spec: GameSpec
    evaluate: Evaluate | None = None
    node: str = "wheel"
    usage: str | None = None
    most: int = field(default_factory=cores)
    restarts: int = 0  # of processes that died or did not answer
    _workers: list[_Worker] = field(default_factory=list)

    def run(self, searches: Sequence[Callable[[float], Search]], limit_s: float, fallback: Sequence[int]) -> list[int]:
        """Run one search for each decision and return its action.

        A search is made when a process is free, with the time on the monotonic clock at which it must be done, and gets
        None in place of an answer from then on. Each takes `limit_s` at most, so all take that times the number of
        decisions over the number of processes. `fallback` are the actions for decisions whose process failed.
        """
        actions = list(fallback)
        waiting = list(enumerate(searches))
        running: list[_Running] = []
        self._start(len(searches))
        while waiting or running:
            while waiting and (worker := self._idle(running)) is not None:
                place, make = waiting.pop(0)
                until_s = time.monotonic() + limit_s
                each = _Running(place, make(until_s), worker, until_s)
                if self._advance(each, None, actions):
                    running.append(each)
            if waiting and not running and not self._recover():
                break  # no process is left
            self._evaluate(running, actions)
            self._collect(running, actions, bool(waiting))
        return actions

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.process.close()
        self._workers.clear()

    def _start(self, decisions: int) -> None:
        """Start as many processes as decisions need, and wait until they are ready."""
        while len(self._workers) < min(decisions, self.most):
            self._workers.append(_Worker(SearchProcess(self.spec, node=self.node, usage=self.usage)))
        for worker in self._workers:
            if not worker.ready:
                if worker.process.wait(START_DEADLINE_S) is None:
                    raise HostError(f"a search process was not ready after {START_DEADLINE_S:.0f} s")
                worker.ready = True

    def _idle(self, running: Sequence[_Running]) -> _Worker | None:
        busy = {id(each.worker) for each in running}
        return next((each for each in self._workers if id(each) not in busy and not each.late_since_s), None)

    def _recover(self) -> bool:
        """Wait for processes that are late, or start them again. Returns whether one is free."""
        for place, worker in enumerate(self._workers):
            if not worker.late_since_s:
                return True
            left_s = worker.late_since_s + LATE_S - time.monotonic()
            try:
                answer = worker.process.wait(max(0.0, left_s))
            except HostError:
                answer = None
            if answer is None:
                self._restart(place)
            worker.late_since_s = 0.0
            return True
        return False

    def _restart(self, place: int) -> None:
        self._workers[place].process.close()
        self.restarts += 1
        process = SearchProcess(self.spec, node=self.node, usage=self.usage)
        if process.wait(START_DEADLINE_S) is None:
            raise HostError(f"a search process was not ready after {START_DEADLINE_S:.0f} s")
        self._workers[place] = _Worker(process, ready=True)

    def _advance(self, each: _Running, answer: object, actions: list[int]) -> bool:
        """Give a search its answer. Returns whether it goes on; if not, its action is known."""
        try:
            each.request = each.search.send(answer)
        except StopIteration as stop:
            actions[each.place] = int(stop.value)
            return False
        if isinstance(each.request, SearchQuestion):
            each.worker.process.ask(each.request.message, each.request.data)
        return True

    def _evaluate(self, running: list[_Running], actions: list[int]) -> None:
        """SearchAnswer all searches that wait for the net, with one batch."""
        asking = [(each, each.request) for each in running if isinstance(each.request, LeafEvaluation)]
        if not asking:
            return
        assert self.evaluate is not None
        obs = np.concatenate([request.obs for _, request in asking])
        legal = np.concatenate([request.legal for _, request in asking])
        logp, values = self.evaluate(obs, legal)
        first = 0
        for each, request in asking:
            rows = slice(first, first + len(request.obs))
            first = rows.stop
            if not self._advance(each, (logp[rows], values[rows]), actions):
                running.remove(each)

    def _collect(self, running: list[_Running], actions: list[int], more_wait: bool) -> None:
        """Wait for an answer of a process, or until the time of a search is up."""
        asking = [each for each in running if isinstance(each.request, SearchQuestion)]
        if not asking or len(asking) < len(running):
            return
        left_s = min(each.until_s for each in asking) - time.monotonic()
        readable = select.select([each.worker.process for each in asking], [], [], max(0.0, left_s))[0]
        now_s = time.monotonic()
        for each in asking:
            answer: tuple[SearchAnswer, bytes] | None = None
            try:
                if each.worker.process in readable:
                    answer = each.worker.process.take()
            except HostError:
                running.remove(each)
                each.search.close()
                self._restart(self._workers.index(each.worker))
                continue
            if answer is None and now_s < each.until_s:
                continue
            if answer is None:
                each.worker.late_since_s = now_s
            if not self._advance_or_stop(each, answer, actions):
                running.remove(each)

    def _advance_or_stop(self, each: _Running, answer: object, actions: list[int]) -> bool:
        """Advance a search as `_advance` does, or end it if its time is up: it must not ask again."""
        if answer is not None:
            return self._advance(each, answer, actions)
        try:
            each.search.send(None)
        except StopIteration as stop:
            actions[each.place] = int(stop.value)
        else:
            each.search.close()
        return False
