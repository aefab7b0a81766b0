"""Measures the CPU, memory and GPU use of a process and its children."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import psutil

from ludus.diagnostics.scaling import GpuUse
from ludus.processes import launch

NVIDIA = "nvidia-smi"
SAMPLE_S = 0.5
ANSWER_S = 10.0  # deadline for nvidia-smi to answer or to exit
SHORTEST_S = 0.1  # shortest interval of a peak: CPU time is counted in ticks of 10 ms


class TreeUse:
    """CPU and memory use of a process tree since construction. Call `sample` regularly and once at the end.

    The CPU time of a process that ends between two samples is lost from the earlier one on. Memory is resident memory;
    pages shared by several processes count for each. Processes returned by `apart` are also measured separately.
    """

    def __init__(self, ignored: int | None = None, apart: Callable[[], Collection[int]] = tuple) -> None:
        self._root = psutil.Process()
        self._ignored = ignored
        self._apart = apart
        self._used_s: dict[psutil.Process, float] = {}
        self._began_s = self._sampled_s = time.perf_counter()
        self._cpu_s = self._apart_s = self._peak_cores = 0.0
        self.ram_mib = self.ram_peak_mib = self.apart_peak_mib = 0.0
        self._look()

    def sample(self) -> None:
        used_s, apart_s = self._look()
        now_s = time.perf_counter()
        took_s = now_s - self._sampled_s
        self._sampled_s = now_s
        self._cpu_s += used_s
        self._apart_s += apart_s
        if took_s >= SHORTEST_S:
            self._peak_cores = max(self._peak_cores, used_s / took_s)

    @property
    def cpu_mean_cores(self) -> float:
        return self._mean(self._cpu_s)

    @property
    def apart_mean_cores(self) -> float:
        return self._mean(self._apart_s)

    @property
    def cpu_peak_cores(self) -> float:
        return max(self._peak_cores, self.cpu_mean_cores)

    def _mean(self, used_s: float) -> float:
        took_s = self._sampled_s - self._began_s
        return used_s / took_s if took_s > 0 else 0.0

    def _look(self) -> tuple[float, float]:
        """Return the CPU seconds since the last call, of all processes and of those apart, and update the memory."""
        apart_pids = set(self._apart())
        used_s = apart_s = 0.0
        resident = apart = 0
        for process in (self._root, *self._root.children(recursive=True)):
            if process.pid == self._ignored:
                continue
            try:
                times, rss = process.cpu_times(), process.memory_info().rss
            except psutil.Error:  # the process has ended
                continue
            total_s = times.user + times.system
            own_s = total_s - self._used_s.get(process, 0.0)
            self._used_s[process] = total_s
            used_s, resident = used_s + own_s, resident + rss
            if process.pid in apart_pids:
                apart_s, apart = apart_s + own_s, apart + rss
        self.ram_mib = resident / 2**20
        self.ram_peak_mib = max(self.ram_peak_mib, self.ram_mib)
        self.apart_peak_mib = max(self.apart_peak_mib, apart / 2**20)
        return used_s, apart_s


class GpuWatch:
    """A running nvidia-smi that logs the use of the GPUs."""

    def __init__(self, process: subprocess.Popen[bytes] | None, lines: IO[bytes]) -> None:
        self._process = process
        self._lines = lines
        self.pid = None if process is None else process.pid

    def use(self) -> GpuUse | None:
        """Stop the measurement and return its result, or None without a GPU."""
        self.end()
        self._lines.seek(0)
        return read_gpu_lines(self._lines.read().decode(errors="replace").splitlines())

    def end(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ANSWER_S)
        self._process = None


@contextmanager
def watching_gpus(gpus: str) -> Iterator[GpuWatch]:
    """Measure all GPUs of the machine. `gpus` is the result of `gpu_names`; if it is empty, nothing is started."""
    query = (NVIDIA, *_query("utilization.gpu,memory.used,index"), f"--loop-ms={round(1000 * SAMPLE_S)}")
    with tempfile.TemporaryFile() as lines:
        process = None
        if gpus:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), *query],
                stdin=subprocess.DEVNULL,
                stdout=lines,
                stderr=subprocess.DEVNULL,
            )
        watch = GpuWatch(process, lines)
        try:
            yield watch
        finally:
            watch.end()


def gpu_names() -> str:
    """Return the names of the GPUs, separated by commas, or "" if nvidia-smi is missing or lists none."""
    if shutil.which(NVIDIA) is None:
        return ""
    try:
        result = subprocess.run(
            [NVIDIA, *_query("name")], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ", ".join(result.stdout.split("\n")).strip(", ") if result.returncode == 0 else ""


def read_gpu_lines(lines: Sequence[str]) -> GpuUse | None:
    """Parse lines of "use in percent, memory in MiB, GPU index". Other and incomplete lines are skipped."""
    by_gpu: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        parts = [part.strip() for part in line.split(",")]
        try:
            use, memory, index = float(parts[0]) / 100, float(parts[1]), parts[2]
        except (ValueError, IndexError):
            continue
        by_gpu.setdefault(index, []).append((use, memory))
    if not by_gpu:
        return None
    rounds = list(zip(*by_gpu.values(), strict=False))  # one entry per GPU; the last round may be incomplete
    uses = [statistics.fmean(use for use, _ in each) for each in rounds]
    return GpuUse(statistics.fmean(uses), max(uses), max(sum(memory for _, memory in each) for each in rounds))


def _query(fields: str) -> tuple[str, str]:
    return f"--query-gpu={fields}", "--format=csv,noheader,nounits"
