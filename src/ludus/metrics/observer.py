"""The interface for code that watches a run: the exporters of this package, or your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from ludus.metrics.failures import Failures
from ludus.metrics.times import Times

ALONE = "none"  # name of the opponent in games with one seat, where rewards are reported

Numbers = Mapping[str, float | str]
"""One report of `Metrics`: values by the names in names.py."""


class Result(Protocol):
    """The attributes of `evaluation.arena.MatchupResult` that observers use. This package must not import it."""

    @property
    def opponent(self) -> str: ...
    @property
    def matches(self) -> int: ...
    @property
    def wins(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def ties(self) -> int: ...
    @property
    def win_rate(self) -> float: ...
    @property
    def interval(self) -> tuple[float, float]: ...
    @property
    def reward(self) -> float: ...
    @property
    def reward_interval(self) -> tuple[float, float]: ...


class RunObserver(Protocol):
    """Receives the numbers of a run. The learner calls it between two updates, from one thread, and waits for it."""

    def on_progress(self, numbers: Numbers) -> None:
        """Called about once a second, and once at the end."""
        ...

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Called after each evaluation; `final` is True for the one at the end of the run."""
        ...


@runtime_checkable
class CountsFailures(Protocol):
    """An observer that counts its failed writes. The run reports the count as `telemetry/write_failures`."""

    def take_failures(self) -> int:
        """Return the number of writes that failed since the last call."""
        ...


@runtime_checkable
class TakesTimes(Protocol):
    """An observer that needs histograms of durations, which `on_progress` does not have."""

    def on_times(self, times: Times) -> None:
        """Called before `on_progress`, with the times of the whole run. Do not change or keep them."""
        ...


class Observers:
    """Forwards calls to several observers in order. `failures` counts their failed writes."""

    def __init__(self, observers: Sequence[RunObserver], failures: Failures | None = None) -> None:
        self._observers = tuple(observers)
        self._failures = failures or Failures()

    def take_failures(self) -> int:
        return self._failures.take()

    def on_times(self, times: Times) -> None:
        for observer in self._observers:
            if isinstance(observer, TakesTimes):
                observer.on_times(times)

    def on_progress(self, numbers: Numbers) -> None:
        for observer in self._observers:
            observer.on_progress(numbers)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        for observer in self._observers:
            observer.on_evaluation(results, final=final)
