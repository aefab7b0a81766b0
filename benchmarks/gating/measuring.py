"""Runs the trials of one benchmark until its verdict is clear or its time is over."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.contest import Contestant
from benchmarks.gating import statistics as decisions
from benchmarks.gating.benches import COUNTED, Bench, valgrind
from benchmarks.gating.statistics import BASE, CONTROL, FEWEST_TRIALS, HEAD, ORDER, Answer, Verdict
from benchmarks.gating.trees import GateError, Tree, link

VALGRIND_S = 900.0
MARK = "getpriority"  # a function of the C library that a program calls before and after the work to be counted
CHECK_EVERY = 3  # trials: fewer looks at the data, fewer chances of a false alarm
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)

Say = Callable[[str], None]


@dataclass
class Measured:
    """The trials of one benchmark. Costs are seconds of a unit of work."""

    ratios: dict[str, list[float]] = field(default_factory=lambda: {HEAD: [], CONTROL: []})  # CPU time, by trial
    wall_ratios: dict[str, list[float]] = field(default_factory=lambda: {HEAD: [], CONTROL: []})
    costs: dict[str, list[float]] = field(default_factory=lambda: {BASE: [], HEAD: [], CONTROL: []})  # CPU
    verdict: Verdict = field(default_factory=lambda: decisions.verdict({HEAD: [], CONTROL: []}))

    def row(self, name: str) -> dict[str, float]:
        costs = self.costs[name]
        return {
            key: float(f"{of(costs):.4g}") for key, of in (("median", statistics.median), ("low", min), ("high", max))
        }


def measure(name: str, bench: Bench, base: Tree, head: Tree, *, budget_s: float, say: Say) -> Measured:
    """Measure one benchmark. Raises GateError if it cannot run with one of the commits."""
    if name in COUNTED:
        return _count(name, bench, base, head, say)
    trees = {BASE: base, HEAD: head, CONTROL: base}
    measured, began_s, number = Measured(), time.monotonic(), 0
    while True:
        number += 1
        _trial(name, bench, trees, number, measured)
        spent_s = time.monotonic() - began_s
        measured.verdict = decisions.verdict(measured.ratios)
        say(f"{name}: trial {number}, {spent_s:.0f} of {budget_s:.0f} s: {_so_far(measured)}")
        is_over = spent_s + spent_s / number > budget_s
        may_decide = number >= FEWEST_TRIALS and number % CHECK_EVERY == 0
        if is_over or (may_decide and measured.verdict.answer is not Answer.CANNOT_TELL):
            return measured


def _trial(name: str, bench: Bench, trees: Mapping[str, Tree], number: int, measured: Measured) -> None:
    """Start a process of each contestant, warm it up, and measure all in turn with the same work."""
    cpu: list[tuple[str, float]] = []
    wall: list[tuple[str, float]] = []
    contestants: dict[str, Contestant] = {}
    with ExitStack() as running:
        linked = Path(running.enter_context(tempfile.TemporaryDirectory())) / "tree"
        try:
            for who, tree in trees.items():
                at_link = link(linked, tree) if bench.node else tree
                command = bench.command(name, at_link, number)
                contestants[who] = running.enter_context(Contestant(who, [command], environment=tree.environment))
                contestants[who].wait_until_ready()  # it has loaded its code, so the link may change
            for who in contestants:
                contestants[who].ask({"units": bench.warm_units, "seed": 0})
            for who in ORDER:
                answer = contestants[who].ask({"units": bench.units, "seed": number})[0]
                cpu.append((who, answer["cpu_s"] / answer["units"]))
                wall.append((who, answer["wall_s"] / answer["units"]))
        except RuntimeError as error:
            raise GateError(f"{name} cannot be measured at {trees[who].commit}: {error}") from error
    for ratios, costs in ((measured.ratios, cpu), (measured.wall_ratios, wall)):
        for who, ratio in decisions.trial_ratios(costs).items():
            ratios[who].append(ratio)
    for who in measured.costs:
        measured.costs[who].append(min(cost for each, cost in cpu if each == who))


def _so_far(measured: Measured) -> str:
    head, control = measured.ratios[HEAD][-1], measured.ratios[CONTROL][-1]
    return f"head/base {head:.3f}, control {control:.3f}; {measured.verdict.sentence}"


def _count(name: str, bench: Bench, base: Tree, head: Tree, say: Say) -> Measured:
    measured = Measured()
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for who, tree in ((BASE, base), (HEAD, head), (CONTROL, base)):
            at_link = link(Path(folder) / "tree", tree) if bench.node else tree
            counts[who] = instructions(name, bench, at_link)
            measured.costs[who].append(float(counts[who]))
            say(f"{name}: {who} {counts[who]:,} instructions a unit")
    measured.verdict = decisions.counted_verdict(counts[BASE], counts[HEAD], counts[CONTROL])
    for who in (HEAD, CONTROL):
        measured.ratios[who].append(counts[who] / counts[BASE])
    return measured


def instructions(name: str, bench: Bench, tree: Tree) -> int:
    """Count the instructions of a unit of work. Raises GateError.

    The program calls `getpriority` before and after its work. Valgrind writes a file at each call, with the
    instructions since the previous one.
    """
    if valgrind() is None:
        raise GateError(f"{name}: valgrind is not installed; it is in the package `valgrind` of most systems")
    with tempfile.TemporaryDirectory() as folder:
        options = (f"--callgrind-out-file={Path(folder) / 'out'}", f"--dump-before={MARK}")
        command = ["valgrind", "--tool=callgrind", *options, *bench.command(name, tree)]
        command += [str(bench.warm_units), str(bench.units)]
        try:
            subprocess.run(
                command, env=dict(tree.environment), capture_output=True, text=True, check=True, timeout=VALGRIND_S
            )
        except subprocess.CalledProcessError as error:
            last = error.stderr.strip().splitlines()[-1:]
            raise GateError(f"{name} cannot be measured at {tree.commit}: {' '.join(last)}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GateError(f"{name}: {error}") from error
        second = Path(folder) / "out.2"
        total = _TOTAL.search(second.read_text()) if second.exists() else None
        if total is None:
            raise GateError(f"{name}: valgrind wrote no number of instructions")
        return round(int(total[1]) / bench.units)


def seconds(text: str) -> float:
    """Return the seconds of `90s`, `10m` or `1h30m`. Raises GateError."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", text)
    if match is None or not any(match.groups()):
        raise GateError(f"--budget {text}: must look like 90s, 10m or 1h30m")
    hours, minutes, rest = (int(group or 0) for group in match.groups())
    total = 3600.0 * hours + 60.0 * minutes + rest
    if not (math.isfinite(total) and total > 0):
        raise GateError(f"--budget {text}: must be more than 0")
    return total
