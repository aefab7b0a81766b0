"""Counters, gauges, running means and stage timers of one process; plain dicts carry them to another."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple

import msgspec

from ludus.metrics import names

RATE_REPORTS = 10  # rates look back this far


class Delta(msgspec.Struct, frozen=True):
    """What one process counted since its last `drain`. Deltas add up: merging all of them loses nothing."""

    process: str
    wall_ns: int
    counters: dict[str, float] = {}
    gauges: dict[str, float | str] = {}
    means: dict[str, tuple[float, float]] = {}  # sum of value * weight, sum of weight
    stages: dict[str, int] = {}  # ns

    def to_dict(self) -> dict[str, object]:
        """Plain numbers, strings and dicts: fit for a pipe or a JSON file."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain


class Metrics:
    """One process's numbers. Not for several threads.

    A process that has a learner above it calls `drain` and sends the result; the learner calls `merge` on it and, about
    once a second, `report`, which gives the flat numbers that the exporters show.
    """

    def __init__(self, process: str = "learner", clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._process = process
        self._clock_ns = clock_ns
        self._counters: dict[str, float] = {}  # totals; the run's when this is the learner's
        self._gauges: dict[str, float | str] = {}
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._stages: dict[str, StageTimer] = {}
        self._merged_stages: dict[str, int] = {}
        self._merged_wall: dict[str, int] = {}
        self._since_ns = clock_ns()
        self._history: deque[_Moment] = deque([_Moment(self._since_ns, 0.0, {})], maxlen=RATE_REPORTS)

    def add(self, name: str, value: float = 1) -> None:
        """Let a counter grow."""
        self._counters[name] = self._counters.get(name, 0) + value

    def set(self, name: str, value: float | str) -> None:
        """Give a gauge its latest value."""
        self._gauges[name] = value

    def observe(self, name: str, value: float, weight: float = 1.0) -> None:
        """Take a value into the running mean since the last report."""
        self._sums[name] = self._sums.get(name, 0.0) + value * weight
        self._weights[name] = self._weights.get(name, 0.0) + weight

    def stage(self, name: str) -> StageTimer:
        """`with metrics.stage(names.POLICIES): ...` adds the time to that stage; the timer may be kept."""
        timer = self._stages.get(name)
        if timer is None:
            timer = self._stages[name] = StageTimer(self._clock_ns)
        return timer

    def counter(self, name: str) -> float:
        return self._counters.get(name, 0)

    def counters(self) -> dict[str, float]:
        """All totals, to be saved with a checkpoint."""
        return dict(self._counters)

    def restore(self, counters: Mapping[str, float]) -> None:
        """Go on from a checkpoint's totals; they count into no rate."""
        self._counters = dict(counters)
        self._history.clear()
        self._history.append(_Moment(self._clock_ns(), None, dict(counters)))

    def drain(self) -> Delta:
        """Everything since the last drain, and begin again from zero."""
        now = self._clock_ns()
        delta = Delta(
            process=self._process,
            wall_ns=now - self._since_ns,
            counters=self._counters,
            gauges=self._gauges,
            means={name: (total, self._weights[name]) for name, total in self._sums.items()},
            stages={name: timer.take() for name, timer in self._stages.items()},
        )
        self._counters, self._gauges, self._sums, self._weights = {}, {}, {}, {}
        self._since_ns = now
        return delta

    def merge(self, delta: Delta | Mapping[str, object]) -> None:
        """Take in what another process drained: counters and means add up, gauges replace."""
        seen = delta if isinstance(delta, Delta) else msgspec.convert(delta, Delta)
        for name, value in seen.counters.items():
            self.add(name, value)
        self._gauges.update(seen.gauges)
        for name, (total, weight) in seen.means.items():
            self._sums[name] = self._sums.get(name, 0.0) + total
            self._weights[name] = self._weights.get(name, 0.0) + weight
        for name, stage_ns in seen.stages.items():
            self._merged_stages[name] = self._merged_stages.get(name, 0) + stage_ns
        self._merged_wall[seen.process] = self._merged_wall.get(seen.process, 0) + seen.wall_ns

    def report(self) -> dict[str, float | str]:
        """The flat numbers for the exporters, in the order of names.py.

        Means and shares begin anew with every report, rates look back over the last ten; counters and gauges stay.
        """
        now = self._clock_ns()
        wall_ns = max(now - self._since_ns, 1)
        numbers: dict[str, float | str] = {**self._counters, **self._gauges, names.REPORT_S: wall_ns / 1e9}
        for name, total in self._sums.items():
            if self._weights[name] > 0:
                numbers[name] = total / self._weights[name]
        numbers.update(self._rates(now))
        numbers.update(self._shares(wall_ns))
        self._sums, self._weights = {}, {}
        self._since_ns = now
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

    def _shares(self, wall_ns: int) -> dict[str, float]:
        """A stage's share of the wall time of the process it ran in; stages timed here share this process's time."""
        shares: dict[str, float] = {}
        for name, timer in self._stages.items():
            shares[names.SHARE(name)] = timer.take() / wall_ns
        for name, stage_ns in self._merged_stages.items():
            process_ns = self._merged_wall.get(name.partition("/")[0], wall_ns)
            shares[names.SHARE(name)] = shares.get(names.SHARE(name), 0.0) + stage_ns / max(process_ns, 1)
        self._merged_stages, self._merged_wall = {}, {}
        return shares


class _Moment(NamedTuple):
    """What a report saw, for the rates of later ones."""

    wall_ns: int
    training_s: float | None
    counters: Mapping[str, float]


class StageTimer:
    """Adds the time between enter and exit to a stage; about a microsecond a pass. A stage does not nest in itself."""

    __slots__ = ("_clock_ns", "_entered_ns", "_total_ns")

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns
        self._entered_ns: int | None = None  # while the stage is under way
        self._total_ns = 0

    def __enter__(self) -> None:
        self._entered_ns = self._clock_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered_ns is not None:
            self._total_ns += self._clock_ns() - self._entered_ns
            self._entered_ns = None

    def take(self) -> int:
        """The time since the last take, that of a stage under way included, so that no window gets another's time."""
        now = self._clock_ns()
        taken = self._total_ns
        if self._entered_ns is not None:
            taken += now - self._entered_ns
            self._entered_ns = now
        self._total_ns = 0
        return taken
