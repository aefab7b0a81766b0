"""Measure several programs against each other: all are alive, and one runs at a time, interleaved.

A contestant is one or more child processes that use the protocol of drivers/lines.py. It waits for its next request
while others are measured. One that cannot wait (a training run) is stopped and continued with signals.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from ludus.processes.cores import cores
from ludus.processes.launch import tied
from ludus.run import provenance

ROOT = Path(__file__).parents[1]
START_DEADLINE_S = 120.0
ANSWER_DEADLINE_S = 600.0
LEAVE_DEADLINE_S = 20.0


@dataclass
class Contestant:
    """A program to be measured. Its processes start and end with its `with` block."""

    name: str
    commands: Sequence[Sequence[str]]
    pausing: bool = True  # whether it rests by itself between two requests
    steady: bool = True  # whether a fraction of a turn measures it as well as a whole one
    environment: Mapping[str, str] | None = None  # of the processes; None: as this one's
    start_s: float = START_DEADLINE_S  # deadline for `wait_until_ready`
    samples: list[float] = field(default_factory=list)  # decisions/s
    cores: list[float] = field(default_factory=list)  # CPU seconds used a second, children included
    answers: list[Mapping[str, float]] = field(default_factory=list)  # of the first process, with what drivers add

    def __enter__(self) -> Self:
        self._processes = [
            subprocess.Popen(tied(tuple(command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment)
            for command in self.commands
        ]
        self._unread = [b"" for _ in self._processes]
        return self

    @property
    def last(self) -> Mapping[str, float]:
        return self.answers[-1]

    def wait_until_ready(self) -> None:
        for i in range(len(self._processes)):
            self._answer(i, self.start_s)
        self._rest()

    def measure(self, seconds: float) -> float:
        """Return the decisions per second of all processes together."""
        self._wake()
        before, begin = self._cpu_s(), time.perf_counter()
        answers = self.ask({"seconds": seconds})
        cores = (self._cpu_s() - before) / (time.perf_counter() - begin)
        self._rest()
        self.answers.append(answers[0])
        self.cores.append(cores)
        return sum(answer["decisions"] / answer["seconds"] for answer in answers)

    def join(self, parts: int) -> None:
        """Replace the last `parts` samples by their mean."""
        for figures in (self.samples, self.cores):
            figures[-parts:] = [statistics.mean(figures[-parts:])]

    def ask(self, request: Mapping[str, Any]) -> list[dict[str, float]]:  # Any: a JSON value
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        return [self._answer(i, ANSWER_DEADLINE_S) for i in range(len(self._processes))]

    def leave(self) -> None:
        """Ask the processes to exit, without waiting for them."""
        self._wake()
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
        for process in self._processes:
            try:
                process.wait(LEAVE_DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def _answer(self, i: int, deadline_s: float) -> dict[str, float]:
        stdout = self._processes[i].stdout
        assert stdout is not None
        until = time.monotonic() + deadline_s
        while b"\n" not in self._unread[i]:
            if not select.select([stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise RuntimeError(f"{self.name} did not answer within {deadline_s:.0f} s")
            chunk = os.read(stdout.fileno(), 1 << 16)
            if not chunk:
                raise RuntimeError(f"{self.name} ended with status {self._processes[i].wait()}; its words are above")
            self._unread[i] += chunk
        line, _, self._unread[i] = self._unread[i].partition(b"\n")
        answer: dict[str, float] = json.loads(line)
        return answer

    def _tree(self) -> list[psutil.Process]:
        processes = []
        for process in self._processes:
            try:
                parent = psutil.Process(process.pid)
                processes += [parent, *parent.children(recursive=True)]
            except psutil.NoSuchProcess:
                continue
        return processes

    def _cpu_s(self) -> float:
        total = 0.0
        for process in self._tree():
            try:
                total += sum(process.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
        return total

    def _rest(self) -> None:
        if not self.pausing:
            self._signal(signal.SIGSTOP)

    def _wake(self) -> None:
        if not self.pausing:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._tree():
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue


class Options(argparse.ArgumentParser):
    """The command line of a benchmark: --quick, --save if results are stored, and the benchmark's own options."""

    def __init__(
        self,
        description: str | None,
        results: Path | None = None,
        *,
        quick: str = "coarser, in under a minute",
        save: str = "",
    ) -> None:
        """`quick` and `save` are the help texts of these options."""
        formatter = argparse.RawDescriptionHelpFormatter if "\n" in (description or "") else argparse.HelpFormatter
        super().__init__(description=description, formatter_class=formatter)
        self._sizes: dict[str, tuple[object, object]] = {}
        self.add_argument("--quick", action="store_true", help=quick)
        if results is not None:
            save = save or f"append the result to {results.relative_to(ROOT)}"
            self.add_argument("--save", action="store_true", help=save)

    def size(self, flag: str, usual: float, quick: float, meaning: str) -> None:
        """Add an option with two defaults: one for a full measurement, one for --quick."""
        self._sizes[flag.removeprefix("--").replace("-", "_")] = usual, quick
        self.add_argument(flag, type=type(usual), help=f"{meaning} ({usual:g}; quick: {quick:g})")

    def trials(
        self, *, repeats: tuple[int, int], seconds: tuple[float, float], warm_up: tuple[float, float], of: str = ""
    ) -> None:
        """Add the options of `run_interleaved`, each with a default and one for --quick. `of` names the measurement."""
        self.size("--repeats", *repeats, "measurements of each program")
        self.size("--seconds", *seconds, f"seconds of one measurement{of and f' of {of}'}")
        self.size("--warm-up", *warm_up, "seconds of warm-up before the first measurement")

    def arguments(self) -> argparse.Namespace:
        """Parse the command line and fill in the defaults."""
        values = self.parse_args()
        for name, (usual, quick) in self._sizes.items():
            if getattr(values, name) is None:
                setattr(values, name, quick if values.quick else usual)
        return values


def start(contestants: Iterable[Contestant], running: ExitStack) -> None:
    """Start all contestants at once and stop all at once. Those that cannot wait are stopped when they are ready."""
    started = [running.enter_context(each) for each in contestants]
    for contestant in started:
        running.callback(contestant.leave)
    for contestant in sorted(started, key=lambda each: each.pausing):
        contestant.wait_until_ready()


def run_interleaved(
    contestants: Iterable[Contestant], *, repeats: int, warm_up_s: float, seconds: float, parts: int = 1
) -> None:
    """Warm up each contestant once, then measure all in rotation, `repeats` times. Progress goes to stderr.

    On a machine whose speed changes within seconds, it is fairer to cut each measurement into `parts` and interleave
    those; a sample is their mean. Contestants that are not steady are measured in one piece.
    """
    contestants = list(contestants)
    for contestant in contestants:
        say(f"warming up {contestant.name}: {contestant.measure(warm_up_s):,.0f} decisions/s")
        contestant.cores.clear()
        contestant.answers.clear()
    for repeat in range(repeats):
        for part in range(parts):
            for contestant in contestants:
                if contestant.steady:
                    contestant.samples.append(contestant.measure(seconds / parts))
                elif part == 0:
                    contestant.samples.append(contestant.measure(seconds))
        for contestant in contestants:
            contestant.join(parts if contestant.steady else 1)
        line = "  ".join(f"{each.name} {each.samples[-1]:,.0f}" for each in contestants)
        say(f"repeat {repeat + 1} of {repeats}: {line}")


def summary(samples: Sequence[float], **more: float) -> dict[str, float]:
    """Return median, lowest and highest value, rounded."""
    digits = 1 if statistics.median(samples) >= 100 else 3
    spread = {"median": statistics.median(samples), "low": min(samples), "high": max(samples), **more}
    return {name: round(value, digits) for name, value in spread.items()}


def ratio(ours: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Return the ratio of the medians, and its lowest and highest value within one repeat."""
    pairs = [a / b for a, b in zip(ours, other, strict=True)]
    medians = statistics.median(ours) / statistics.median(other)
    return {"median": round(medians, 3), "low": round(min(pairs), 3), "high": round(max(pairs), 3)}


def show(rows: Mapping[str, Mapping[str, float]], ratios: Mapping[str, Mapping[str, float]]) -> None:
    for name, row in rows.items():
        print(f"{name:26}{row['median']:>12,.1f}   {row['low']:>10,.1f} to {row['high']:,.1f}")
    for name, row in ratios.items():
        print(f"{name:26}{row['median']:>12.2f}   {row['low']:>10.2f} to {row['high']:.2f}")


def result(bench: str, root: Path, arguments: argparse.Namespace, **facts: object) -> dict[str, object]:
    """Return what a benchmark's last line says besides its rows: commit, machine, repeats and seconds."""
    return {
        "bench": bench,
        "commit": commit(root),
        "machine": machine(),
        **facts,
        "repeats": arguments.repeats,
        "seconds": arguments.seconds,
    }


def report(
    facts: Mapping[str, object],
    rows: Mapping[str, Mapping[str, float]],
    ratios: Mapping[str, Mapping[str, float]],
    kept_in: Path | None,
) -> None:
    """Print the benchmark's last line, and append it to a file."""
    medians = {name: row["median"] for name, row in ratios.items()}
    spread = {name: [row["low"], row["high"]] for name, row in ratios.items()}
    line = json.dumps({**facts, "rows": rows, "ratios": medians, "ratio_spread": spread})
    if kept_in is not None:
        kept_in.parent.mkdir(exist_ok=True)
        with kept_in.open("a") as file:
            file.write(line + "\n")
    print(line)


def commit(root: Path) -> str:
    """Return the commit that is measured, with a + if the working tree differs from it. A copy without a clone of git
    is told by LUDUS_COMMIT."""
    return provenance.commit(root) or os.environ.get("LUDUS_COMMIT", "unknown")


def machine() -> dict[str, str | int]:
    return {
        "cpu": _cpu_name(),
        "cores": cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
