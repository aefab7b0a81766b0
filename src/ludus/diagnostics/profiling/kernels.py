"""Records the kernels of the learner's GPU with torch's profiler, in the thread that trains."""

from __future__ import annotations

import time
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from ludus.diagnostics.profiling.stacks import StackFrame, StackSamples

TRACE, TABLE = "learner-gpu.trace.json", "learner-gpu.txt"
ROWS = 60  # of the table


class KernelRecorder:
    """Starts torch's profiler at once. Begin and end it in the thread that trains.

    With `cuda=False` it records the operators on the CPU.
    """

    def __init__(self, *, cuda: bool) -> None:
        self._cuda = cuda
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
        self._profile = profile(activities=activities, acc_events=True)
        self._began_s = time.monotonic()
        self._profile.start()

    def stop(self, folder: Path) -> StackSamples:
        """Write a trace for Perfetto and a table of kernels, and return the time of each as a stack of one frame."""
        if self._cuda:
            torch.cuda.synchronize()
        self._profile.stop()
        seconds = time.monotonic() - self._began_s
        averages = self._profile.key_averages()
        order = "self_device_time_total" if self._cuda else "self_cpu_time_total"
        (folder / TABLE).write_text(averages.table(sort_by=order, row_limit=ROWS), encoding="utf-8")
        self._profile.export_chrome_trace(str(folder / TRACE))
        times = {(StackFrame(str(each.key)),): float(getattr(each, order)) / 1e6 for each in averages}
        return StackSamples(
            "learner's GPU", {stack: spent_s for stack, spent_s in times.items() if spent_s > 0}, seconds
        )
