"""Show that the gate catches a commit that slows the encoder by 5%, and passes ten that change nothing.

    python benchmarks/prove_gate.py [--unchanged 10] [--budget 4m]

The commits are made in a clone in a temporary folder. The slow one adds a loop to the encoder, whose length is chosen
so that it takes 5% of the measured time of a decision. The answers are written to benchmarks/results/gate.md.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.gate import SLOWER
from benchmarks.gating.benches import BENCHES
from benchmarks.gating.trees import Tree

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "gate.md"
ENCODER = Path("src/ludus/games/showdown/host/observe.js")
SLOWDOWN = 0.05
LINE = "\t\town.update(request);\n"
LOOP = "let spin = 1; for (let i = 0; i < {steps}; i++) spin = (Math.imul(spin, 5) + i) | 0; globalThis.spin = spin;"
LONGER = (300, 600)
CALIBRATIONS = 4
ANSWER_S = 1800.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unchanged", type=int, default=10, help="number of commits that change nothing (%(default)s)")
    parser.add_argument("--budget", default="4m", help="of each comparison (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ludus-gate-") as folder:
        clone = Path(folder) / "clone"
        _run("git", "clone", "--quiet", "--shared", str(ROOT), str(clone))
        for number in range(arguments.unchanged):
            _commit(clone, f"Change nothing, {number + 1}", "--allow-empty")
        steps = _slow(clone)
        _commit(clone, "Slow the encoder", "--all")
        head = f"HEAD~{arguments.unchanged + 1}"
        reports = [_gate(clone, f"{head}..HEAD", arguments.budget)]
        for number in range(arguments.unchanged):
            place = arguments.unchanged - number
            reports.append(_gate(clone, f"HEAD~{place + 1}..HEAD~{place}", arguments.budget))
            caught, alarms = reports[0][0] == SLOWER, sum(code == SLOWER for code, _ in reports[1:])
            RESULTS.write_text("\n".join(_page(reports, steps, caught=caught, alarms=alarms)))
    contest.say(f"caught: {caught}; false alarms: {alarms} of {arguments.unchanged}; {RESULTS}")
    return int(not caught or alarms > 0)


def _slow(clone: Path) -> int:
    """Add the loop to the encoder. Returns its number of steps.

    A processor hides a part of a short loop behind other work, so the steps are those that make the encoder 5% slower
    by the line through its costs with two longer loops.
    """
    source = (clone / ENCODER).read_text()
    if LINE not in source:
        raise SystemExit(f"{ENCODER} has no line {LINE.strip()!r} to put a loop after")

    def write(steps: int) -> None:
        loop = f"\t\t{LOOP.format(steps=steps)}\n" if steps else ""
        (clone / ENCODER).write_text(source.replace(LINE, LINE + loop, 1))

    costs = dict.fromkeys((0, *LONGER), math.inf)
    for _ in range(CALIBRATIONS):
        for steps in costs:
            write(steps)
            costs[steps] = min(costs[steps], _decision_ns(clone))
    few, many = LONGER
    step_ns = (costs[many] - costs[few]) / (many - few)
    steps = round(few + (costs[0] * (1 + SLOWDOWN) - costs[few]) / step_ns)
    contest.say(f"a decision takes {costs[0]:.0f} ns, a step {step_ns:.2f} ns: {steps} steps")
    write(max(steps, 1))
    return max(steps, 1)


def _decision_ns(clone: Path) -> float:
    command = BENCHES["encoder"].command("encoder", Tree("HEAD", clone))
    requests = [{"units": 300, "seed": 0}, *({"units": 40, "seed": 1} for _ in range(8))]
    last = json.loads(_run(*command, words="".join(json.dumps(each) + "\n" for each in requests)).splitlines()[-1])
    return float(1e9 * last["cpu_s"] / last["units"])


def _gate(clone: Path, revisions: str, budget: str) -> tuple[int, list[str]]:
    """Return the exit code of the gate and the lines of its table."""
    command = [sys.executable, str(clone / "benchmarks" / "gate.py"), revisions, "--bench", "encoder"]
    done = subprocess.run(
        [*command, "--budget", budget], stdout=subprocess.PIPE, text=True, check=False, timeout=ANSWER_S
    )
    lines = done.stdout.strip().splitlines()[:-1]
    contest.say("\n".join((f"{revisions}: exit code {done.returncode}", *lines)))
    return done.returncode, lines


def _page(reports: list[tuple[int, list[str]]], steps: int, *, caught: bool, alarms: int) -> list[str]:
    machine = contest.machine()
    verb = "is caught" if caught else "is not caught"
    lines = [
        "# What the gate answers",
        "",
        f"`python benchmarks/prove_gate.py` at {contest.commit(ROOT)}, {machine['cpu']}, {machine['cores']} cores.",
        f"The slow commit adds a loop of {steps} steps to the encoder, {SLOWDOWN:.0%} of the time of a decision;",
        f"the others change nothing. The slow commit {verb}; false alarms: {alarms} of {len(reports) - 1}.",
        "",
        "| commit | exit code | trials | CPU, head/base | control | wall-clock | answer |",
        "| --- | ---: | ---: | --- | --- | ---: | --- |",
    ]
    for number, (code, table) in enumerate(reports):
        name = "slower by 5%" if number == 0 else f"unchanged {number}"
        cells = re.split(r"\s{2,}", table[-1].strip())[1:] if table else ["the gate did not answer"]
        lines.append(f"| {name} | {code} | {' | '.join(cells)} |")
    return [*lines, ""]


def _commit(clone: Path, subject: str, *words: str) -> None:
    identity = ("-c", "user.name=gate", "-c", "user.email=gate@localhost")
    _run("git", "-C", str(clone), *identity, "commit", "--quiet", "--no-verify", "-m", subject, *words)


def _run(*command: str, words: str = "") -> str:
    return subprocess.run(command, input=words, capture_output=True, text=True, check=True, timeout=ANSWER_S).stdout


if __name__ == "__main__":
    sys.exit(main())
