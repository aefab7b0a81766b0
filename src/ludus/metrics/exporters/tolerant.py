"""Keeps a run alive when an observer fails: a full disk, a closed terminal, a bug in an exporter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from ludus.metrics.failures import Failures
from ludus.metrics.observer import Numbers, Result, RunObserver, TakesTimes
from ludus.metrics.times import Times

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0


class Tolerant:
    """Forwards all calls to one observer and counts its errors in `failures` instead of raising them.

    After an error, the observer receives no numbers for 1 s, doubled with each further error, at most 30 s. Evaluations
    are always forwarded, after the latest numbers. As a context manager it enters and exits the observer.
    """

    def __init__(
        self, name: str, observer: RunObserver, failures: Failures, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._observer = observer
        self._failures = failures
        self._clock_s = clock_s
        self._pause_s = 0.0
        self._retry_s = 0.0
        self._omitted: Numbers | None = None  # the latest numbers that were not forwarded

    def on_times(self, times: Times) -> None:
        observer = self._observer
        if isinstance(observer, TakesTimes):
            self._attempt(lambda: observer.on_times(times))

    def on_progress(self, numbers: Numbers) -> None:
        self._omitted = numbers
        if not self._pause_s or self._clock_s() >= self._retry_s:
            self._catch_up()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._catch_up()
        self._attempt(lambda: self._observer.on_evaluation(results, final=final))

    def __enter__(self) -> Tolerant:
        observer = self._observer
        if isinstance(observer, AbstractContextManager):
            self._attempt(observer.__enter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._catch_up()
        observer = self._observer
        if isinstance(observer, AbstractContextManager):
            self._attempt(lambda: observer.__exit__(kind, error, trace))

    def _catch_up(self) -> None:
        """Forward the latest numbers, if they have not been forwarded."""
        omitted = self._omitted
        if omitted is not None and self._attempt(lambda: self._observer.on_progress(omitted)):
            self._omitted = None

    def _attempt(self, call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception as error:  # no error of an observer may end the run
            self._failures.note(self._name, error)
            self._pause_s = min(max(2 * self._pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            self._retry_s = self._clock_s() + self._pause_s
            return False
        self._failures.end(self._name)
        self._pause_s = 0.0
        return True
