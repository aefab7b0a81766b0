"""Clocks of the stages: CPU time of this process and of its children, and the machine's own speed."""

from __future__ import annotations

import time

import numpy as np
import psutil

from ludus.diagnostics.diagnosis.record import Measure
from ludus.diagnostics.usage import TreeUse

LOOPS = 40  # of one sample of the machine's speed: about 20 ms
SAMPLES = 5
SLICES = 5  # samples of a stage


class CpuClock:
    """CPU seconds since construction: `own_s` of this process, `children_s` of the processes below it."""

    def __init__(self) -> None:
        self._began_s, self._own_s, self._busy_s = time.perf_counter(), time.process_time(), _busy_s()
        self.use = TreeUse()
        self.own_s = self.children_s = self.wall_s = 0.0
        self.other_cores = 0.0  # that other programs of this machine used meanwhile

    def stop(self) -> None:
        """Take the times. Call while the children still run."""
        self.use.sample()
        self.wall_s = time.perf_counter() - self._began_s
        self.own_s = time.process_time() - self._own_s
        self.children_s = max(0.0, self.use.cpu_mean_cores * self.wall_s - self.own_s)
        self.other_cores = max(0.0, (_busy_s() - self._busy_s) / self.wall_s - self.use.cpu_mean_cores)


def machine_speed() -> Measure:
    """Measure how fast this machine computes now: loops of small numpy operations and of plain Python per second."""
    values = np.arange(20_000, dtype=np.float32)
    samples = []
    for _ in range(SAMPLES):
        began_s = time.perf_counter()
        for _ in range(LOOPS):
            float((values * 1.5 + 2.0).sum())
            sum(range(10_000))
        samples.append(LOOPS / (time.perf_counter() - began_s))
    return Measure("loops/s", "higher", tuple(samples))


def _busy_s() -> float:
    """Return the CPU seconds of all programs since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))
