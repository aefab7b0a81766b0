"""Counters, gauges, running means and activity timers of one process; plain dicts carry them to another."""

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

RATE_REPORTS = 10  # rates look back this far
HALF_LIFE_S = 15.0  # shares and durations of a report: time this long ago counts half
KEPT = 4096  # durations of an activity before they are counted into buckets


class Delta(msgspec.Struct, frozen=True):
    """What one process counted since its last `drain`. Deltas add up: merging all of them loses nothing."""

    counters: dict[str, float] = {}
    gauges: dict[str, float | str] = {}
    means: dict[str, tuple[float, float]] = {}  # sum of value * weight, sum of weight
    times: Times = msgspec.field(default_factory=Times)


class Metrics:
    """One process's numbers. Not for several threads.

    A process that has a learner above it calls `drain` and sends the result; the learner calls `merge` on it and, about
    once a second, `report`, which gives the flat numbers that the exporters show. Activities timed here are parts of
    `process`. `timed=False` leaves out the activities, for measuring what they cost.
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
        self._counters: dict[str, float] = {}  # totals; the run's when this is the learner's
        self._totals: dict[str, float] = {}  # last values given to `grow`
        self._gauges: dict[str, float | str] = {}
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._activities: dict[str, ActivityTimer] = {}
        self._merged = Times()  # of other processes, since the last report or drain
        self._recent = Times()
        self._times = Times()
        self._since_ns = clock_ns()
        self._history: deque[_Moment] = deque([_Moment(self._since_ns, 0.0, {})], maxlen=RATE_REPORTS)

    def add(self, name: str, value: float = 1) -> None:
        """Let a counter grow."""
        self._counters[name] = self._counters.get(name, 0) + value

    def grow(self, name: str, total: float) -> None:
        """Add to a counter by how much a total kept elsewhere has grown since the last call.

        A total below the last one comes from a counter that began again at zero; all of it is added.
        """
        before = self._totals.get(name, 0)
        self._totals[name] = total
        self.add(name, total if total < before else total - before)

    def set(self, name: str, value: float | str) -> None:
        """Give a gauge its latest value."""
        self._gauges[name] = value

    def observe(self, name: str, value: float, weight: float = 1.0) -> None:
        """Take a value into the running mean since the last report."""
        self._sums[name] = self._sums.get(name, 0.0) + value * weight
        self._weights[name] = self._weights.get(name, 0.0) + weight

    def activity(self, name: str) -> ActivityTimer:
        """`with metrics.activity(names.POLICIES): ...` adds the time to that activity; the timer may be kept."""
        timer = self._activities.get(name)
        if timer is None:
            timer = self._activities[name] = ActivityTimer(self._clock_ns) if self._timed else _Unused(self._clock_ns)
        return timer

    def begin(self) -> None:
        """The time so far belongs to nobody: it went into getting ready."""
        self._window(self._clock_ns())

    def counter(self, name: str) -> float:
        return self._counters.get(name, 0)

    def counters(self) -> dict[str, float]:
        """All totals, to be saved with a checkpoint."""
        return dict(self._counters)

    def times(self) -> Times:
        """Of all reports, the time before `restore` included."""
        return self._times

    def restore(self, counters: Mapping[str, float], times: Times | None = None) -> None:
        """Add a checkpoint's totals to the counters of this process; they count into no rate and no share."""
        for name, value in counters.items():
            self.add(name, value)
        self._times = times or Times()
        self._history.clear()
        self._history.append(_Moment(self._clock_ns(), None, dict(self._counters)))

    def drain(self) -> Delta:
        """Everything since the last drain, and begin again from zero."""
        delta = Delta(
            counters=self._counters,
            gauges=self._gauges,
            means={name: (total, self._weights[name]) for name, total in self._sums.items()},
            times=self._window(self._clock_ns()),
        )
        self._counters, self._gauges, self._sums, self._weights = {}, {}, {}, {}
        return delta

    def merge(self, delta: Delta) -> None:
        """Take in what another process drained: counters and means add up, gauges replace."""
        for name, value in delta.counters.items():
            self.add(name, value)
        self._gauges.update(delta.gauges)
        for name, (total, weight) in delta.means.items():
            self._sums[name] = self._sums.get(name, 0.0) + total
            self._weights[name] = self._weights.get(name, 0.0) + weight
        self.merge_times(delta.times)

    def merge_times(self, times: Times) -> None:
        """Take in where the time of other processes went."""
        self._merged.add(times)

    def report(self) -> dict[str, float | str]:
        """The flat numbers for the exporters, in the order of names.py.

        Means begin anew with every report, rates look back over the last ten, shares and durations fade; counters and
        gauges stay. Reports of time in which an evaluation ran leave the shares as they were.
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
        """Counters, gauges and means as they stand, without beginning anew."""
        means = {name: total / self._weights[name] for name, total in self._sums.items() if self._weights[name] > 0}
        numbers = {**self._counters, **self._gauges, **means}
        return {name: numbers[name] for name in names.ordered(numbers)}

    def _rates(self, now_ns: int) -> dict[str, float]:
        """Growth over the last reports, per time of training, so that pauses for an evaluation do not count.

        Counters grow in lumps, as deltas arrive from the actor: from one report to the next they say little.
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
        """Where the time went since the last window, here and in what was merged."""
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


class _Moment(NamedTuple):
    """What a report saw, for the rates of later ones."""

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
        self._entered_ns: int | None = None  # while the activity is under way
        self._given_ns = 0  # of a pass that was under way in the last take
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
            if len(self._spent_ns) >= KEPT:
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
    """Times nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
