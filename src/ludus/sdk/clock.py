"""Measures how a host spends its time, for TIMES frames: each lap assigns the time since the previous lap."""

from __future__ import annotations

import time
from collections.abc import Callable

from ludus.wire.bodies import HOST_ACTIVITIES, TimesBody
from ludus.wire.durations import Durations

KEPT = 4096  # laps to collect before they are sorted into histograms


class ActivityClock:
    """A lap clock, which starts when it is created. With `every_s` None it measures nothing and reports nothing."""

    def __init__(self, every_s: float | None, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock_ns = clock_ns
        self._every_ns = None if every_s is None else every_s * 1e9
        self._said_ns = self._lap_ns = clock_ns()
        self._spent_ns: dict[str, list[int]] = {activity: [] for activity in HOST_ACTIVITIES}
        self._settled: dict[str, Durations] = {}
        self._laps = 0

    def lap(self, activity: str) -> None:
        """Count the time since the previous lap for this activity."""
        if self._every_ns is None:
            return
        now_ns = self._clock_ns()
        self._spent_ns[activity].append(now_ns - self._lap_ns)
        self._lap_ns = now_ns
        self._laps += 1

    def due(self) -> TimesBody | None:
        """Return the times since the last report if it was at least `every_s` ago, else None. Call once per answer."""
        if self._every_ns is None:
            return None
        if self._laps >= KEPT:
            self._settle()
        wall_ns = self._lap_ns - self._said_ns
        if wall_ns < self._every_ns or wall_ns <= 0:
            return None
        self._settle()
        durations, self._settled = self._settled, {}
        self._said_ns = self._lap_ns
        return TimesBody(float(wall_ns), durations)

    def _settle(self) -> None:
        for activity, spent_ns in self._spent_ns.items():
            if spent_ns:
                self._settled.setdefault(activity, Durations()).add(Durations.of(spent_ns))
                spent_ns.clear()
        self._laps = 0
