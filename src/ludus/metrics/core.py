"""Counters, gauges, running means and activity timers of one process, which can be merged into another process's."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple

import msgspec

from ludus.metrics import names
from ludus.metrics.times import LEARNER, Times
from ludus.wire.durations import Durations

RATE_REPORTS = 10  # a rate spans this many reports
HALF_LIFE_S = 15.0  # half-life of the shares and durations in a report
BUFFERED = 4096  # durations of an activity that are buffered before they go into the histogram


class Delta(msgspec.Struct, frozen=True):
    """The changes of one process's metrics since its last `drain`. Deltas are additive."""

    counters: dict[str, float] = {}
    gauges: dict[str, float | str] = {}
    means: dict[str, tuple[float, float]] = {}  # sum of value * weight, sum of weight
    times: Times = msgspec.field(default_factory=Times)


class Metrics:
    """The metrics of one process. Not thread-safe.

    A child process calls `drain` and sends the result to the learner. The learner calls `merge` with it and, about once
    a second, `report`, which returns the flat numbers for the exporters. Activities timed here belong to `process`.
    `timed=False` disables the timers, to measure their cost.
    """

    def __init__(
        self,
        process: str = LEARNER,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        *,
        timed: bool = True,
    ) -> None:
        self._process = process
        self._clock_ns = clock_ns
        self._timed = timed
        self._counters: dict[str, float] = {}  # totals; in the learner, those of the whole run
        self._totals: dict[str, float] = {}  # latest values passed to `grow`
        self._gauges: dict[str, float | str] = {}
        self._gauges_of: dict[str, dict[int, float | str]] = {}  # gauges that several actors report, by actor
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._activities: dict[str, ActivityTimer] = {}
        self._merged = Times()  # times of other processes since the last report or drain
        self._recent = Times()
        self._times = Times()
        self._since_ns = clock_ns()
        self._history: deque[_Moment] = deque([_Moment(self._since_ns, 0.0, {})], maxlen=RATE_REPORTS)

    def add(self, name: str, value: float = 1) -> None:
        """Increase a counter."""
        self._counters[name] = self._counters.get(name, 0) + value

    def grow(self, name: str, total: float) -> None:
        """Increase a counter by the growth of an external total since the last call.

        If the total is below the previous one, its source was reset to zero, and the whole total is added.
        """
        before = self._totals.get(name, 0)
        self._totals[name] = total
        self.add(name, total if total < before else total - before)

    def set(self, name: str, value: float | str, actor: int | None = None) -> None:
        """Set a gauge. Values that several actors report are added up or averaged (`names.ADDED`)."""
        if actor is not None:
            values = self._gauges_of.setdefault(name, {})
            values[actor] = value
            value = _combined(name, values)
        self._gauges[name] = value

    def observe(self, name: str, value: float, weight: float = 1.0) -> None:
        """Add a value to the mean since the last report."""
        self._sums[name] = self._sums.get(name, 0.0) + value * weight
        self._weights[name] = self._weights.get(name, 0.0) + weight

    def took(self, name: str, spent_ns: int) -> None:
        """Add one duration to the histogram of `name`, which is not part of any process's time."""
        self._merged.add(Times(activities={name: Durations.of([spent_ns])}))

    def activity(self, name: str) -> ActivityTimer:
        """Return the timer of an activity: `with metrics.activity(names.POLICIES): ...`. It can be reused."""
        timer = self._activities.get(name)
        if timer is None:
            timer = self._activities[name] = ActivityTimer(self._clock_ns) if self._timed else _Unused(self._clock_ns)
        return timer

    def begin(self) -> None:
        """Discard the time so far, which was spent on starting up."""
        self._window(self._clock_ns())

    def counter(self, name: str) -> float:
        return self._counters.get(name, 0)

    def counters(self) -> dict[str, float]:
        """Return all totals, for a checkpoint."""
        return dict(self._counters)

    def times(self) -> Times:
        """Return the times of all reports, including those before `restore`."""
        return self._times

    def restore(self, counters: Mapping[str, float], times: Times | None = None) -> None:
        """Add the totals of a checkpoint to the counters, without any effect on rates and shares."""
        for name, value in counters.items():
            self.add(name, value)
        self._times = times or Times()
        self._history.clear()
        self._history.append(_Moment(self._clock_ns(), None, dict(self._counters)))

    def drain(self) -> Delta:
        """Return the changes since the last drain and reset them to zero."""
        delta = Delta(
            counters=self._counters,
            gauges=self._gauges,
            means={name: (total, self._weights[name]) for name, total in self._sums.items()},
            times=self._window(self._clock_ns()),
        )
        self._counters, self._gauges, self._sums, self._weights = {}, {}, {}, {}
        return delta

    def merge(self, delta: Delta, actor: int = 0) -> None:
        """Add what an actor has drained. Counters and means add up; for gauges, see `set`."""
        for name, value in delta.counters.items():
            self.add(name, value)
        for name, gauge in delta.gauges.items():
            self.set(name, gauge, actor)
        for name, (total, weight) in delta.means.items():
            self._sums[name] = self._sums.get(name, 0.0) + total
            self._weights[name] = self._weights.get(name, 0.0) + weight
        self.merge_times(delta.times)

    def merge_times(self, times: Times) -> None:
        """Add the activity times of other processes."""
        self._merged.add(times)

    def report(self) -> dict[str, float | str]:
        """Return the flat numbers for the exporters, in the order of names.py.

        Means restart with every report, rates span the last ten reports, and shares and durations are exponentially
        weighted. A report during an evaluation leaves the shares unchanged.
        """
        now = self._clock_ns()
        wall_ns = max(now - self._since_ns, 1)
        numbers: dict[str, float | str] = {**self._counters, **self._gauges, names.REPORT_S: wall_ns / 1e9}
        for name, total in self._sums.items():
            if self._weights[name] > 0:
                numbers[name] = total / self._weights[name]
        numbers.update(self._rates(now))
        numbers.update(self._activity_numbers(self._window(now), wall_ns))
        self._sums, self._weights = {}, {}
        return {name: numbers[name] for name in names.ordered(numbers)}

    def snapshot(self) -> dict[str, float | str]:
        """Return the present counters, gauges and means without resetting anything."""
        means = {name: total / self._weights[name] for name, total in self._sums.items() if self._weights[name] > 0}
        numbers = {**self._counters, **self._gauges, **means}
        return {name: numbers[name] for name in names.ordered(numbers)}

    def _rates(self, now_ns: int) -> dict[str, float]:
        """Return the growth of counters over the last reports, per time of training (without evaluations).

        Several reports are needed because counters grow in steps, whenever the actor sends its deltas.
        """
        trained = self._gauges.get(names.TRAINING_S)
        now = _Moment(now_ns, trained if isinstance(trained, int | float) else None, dict(self._counters))
        before = self._history[0]
        self._history.append(now)
        seconds = (now.wall_ns - before.wall_ns) / 1e9
        if now.training_s is not None and before.training_s is not None and now.training_s > before.training_s:
            seconds = now.training_s - before.training_s
        return {
            rate: (self._counters[name] - before.counters.get(name, 0)) * unit_s / max(seconds, 1e-9)
            for name, (rate, unit_s) in names.RATES.items()
            if name in self._counters
        }

    def _window(self, now_ns: int) -> Times:
        """Return the activity times of this and of merged processes since the last call."""
        window, self._merged = self._merged, Times()
        own = {name: timer.take() for name, timer in self._activities.items()}
        window.add(Times({self._process: now_ns - self._since_ns}, own))
        self._since_ns = now_ns
        return window

    def _activity_numbers(self, window: Times, wall_ns: int) -> dict[str, float]:
        self._times.add(window)
        if not any(activity in window.activities and window.activities[activity].total_ns for activity in names.BREAKS):
            self._recent.fade(0.5 ** (wall_ns / 1e9 / HALF_LIFE_S))
            self._recent.add(window)
        numbers = {}
        for line in self._recent.lines():
            numbers[names.SHARE(line.activity)] = line.share
            for family, value in (
                (names.MEAN_MS, line.mean_ms),
                (names.P50_MS, line.p50_ms),
                (names.P95_MS, line.p95_ms),
            ):
                if math.isfinite(value):
                    numbers[family(line.activity)] = value
        return numbers


def _combined(name: str, values: Mapping[int, float | str]) -> float | str:
    """Return one gauge for the values of several actors: their sum or mean, or the newest value if it is a text."""
    numbers = [value for value in values.values() if isinstance(value, int | float)]
    if len(numbers) < len(values) or len(numbers) == 1:
        return list(values.values())[-1]
    return sum(numbers) if name in names.ADDED else sum(numbers) / len(numbers)


class _Moment(NamedTuple):
    """The counters of one report, for the rates of later reports."""

    wall_ns: int
    training_s: float | None
    counters: Mapping[str, float]


class ActivityTimer:
    """Context manager that adds the time between enter and exit to an activity (about half a microsecond per pass).

    Activities of one process must not nest, since their shares have to add up to 1.
    """

    __slots__ = ("_clock_ns", "_entered_ns", "_given_ns", "_settled", "_spent_ns")

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns
        self._entered_ns: int | None = None  # start of the current pass; None outside the activity
        self._given_ns = 0  # part of the current pass that an earlier `take` returned
        self._spent_ns: list[int] = []
        self._settled = Durations()

    def __enter__(self) -> None:
        self._entered_ns = self._clock_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered_ns is not None:
            self._spent_ns.append(self._clock_ns() - self._entered_ns)
            self._entered_ns = None
            if len(self._spent_ns) >= BUFFERED:
                self._settle()

    def take(self) -> Durations:
        """Return the time since the last call, including that of a pass that has not ended yet."""
        self._settle()
        durations, self._settled = self._settled, Durations()
        under_way_ns = 0 if self._entered_ns is None else self._clock_ns() - self._entered_ns
        durations.total_ns += under_way_ns - self._given_ns
        self._given_ns = under_way_ns
        return durations

    def _settle(self) -> None:
        self._settled.add(Durations.of(self._spent_ns))
        self._spent_ns.clear()


class _Unused(ActivityTimer):
    """A timer that does nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
