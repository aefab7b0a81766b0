"""Whoever watches a run: the exporters here, or your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from ludus.metrics.failures import Failures

ALONE = "none"  # the opponent in games with one seat: there a match is judged by what it earned

Numbers = Mapping[str, float | str]
"""One report of `Metrics`, by the names in names.py."""


class Result(Protocol):
    """What an observer may know of evaluation.arena.MatchupResult, which stands above this package."""

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
    """Called by the learner's process between two updates, never at the same time; must return soon."""

    def on_progress(self, numbers: Numbers) -> None:
        """About once a second, and once at the end."""
        ...

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """After each evaluation; `final` for the one at the end of the run."""
        ...


@runtime_checkable
class CountsFailures(Protocol):
    """An observer may have this, too: the run then reports the count as `telemetry/write_failures`."""

    def take_failures(self) -> int:
        """How many writes failed since the last call."""
        ...


class Observers:
    """Several observers as one. Each is told, in the order given. `failures` is where they count failed writes."""

    def __init__(self, observers: Sequence[RunObserver], failures: Failures | None = None) -> None:
        self._observers = tuple(observers)
        self._failures = failures or Failures()

    def take_failures(self) -> int:
        return self._failures.take()

    def on_progress(self, numbers: Numbers) -> None:
        for observer in self._observers:
            observer.on_progress(numbers)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        for observer in self._observers:
            observer.on_evaluation(results, final=final)
