"""Decide whether a host steps its environments in sequence or in one thread each, from the measured time of a step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stepping = Literal["auto", "in turn", "threads"]

TRIAL_S = 0.25  # longest measurement
TRIAL_STEPS = 200
WAITS_MS = 0.2  # shortest waiting time of a step for which waking a thread pays
WAITS_SHARE = 0.5  # share of a step spent waiting, from which threads are used


@dataclass(frozen=True, slots=True)
class Pace:
    """The measured time of a step: wall-clock time and CPU time of this process."""

    steps: int
    wall_ms: float
    cpu_ms: float

    @property
    def waits(self) -> bool:
        waited_ms = self.wall_ms - self.cpu_ms
        return waited_ms > WAITS_MS and waited_ms > WAITS_SHARE * self.wall_ms

    def __str__(self) -> str:
        if not self.steps:
            return "its steps could not be measured"
        return f"a step takes {self.wall_ms:.3g} ms, {min(self.cpu_ms, self.wall_ms):.3g} ms of them CPU"


def measured(
    step: Callable[[], None],
    *,
    clock_s: Callable[[], float] = time.perf_counter,
    cpu_s: Callable[[], float] = time.process_time,
) -> Pace:
    """Measure steps for a short while. An exception ends the measurement: it is reported when it occurs in a match."""
    begin_s, cpu_begin_s, steps = clock_s(), cpu_s(), 0
    try:
        while steps < TRIAL_STEPS and clock_s() - begin_s < TRIAL_S:
            step()
            steps += 1
    except Exception:  # an environment may raise anything
        pass
    wall_s, used_s = clock_s() - begin_s, cpu_s() - cpu_begin_s
    return Pace(steps, 1e3 * wall_s / max(steps, 1), 1e3 * used_s / max(steps, 1))


def in_threads(stepping: Stepping, pace: Pace) -> bool:
    return pace.waits if stepping == "auto" else stepping == "threads"


def described(stepping: Stepping, pace: Pace) -> str:
    """Return a description for the log and the screen."""
    threads = in_threads(stepping, pace)
    how = "each environment in a thread of its own, first ready" if threads else "environments one after the other"
    why = "as asked" if stepping != "auto" else str(pace)
    return f"{how} ({why})"
