"""Show that the gate catches a commit that slows the encoder by 5%, and passes ten that change nothing.

    python benchmarks/prove_gate.py [--unchanged 10] [--abreast 2]

The commits are made in a clone in a temporary folder, and compared with the current commit by `encoder-counts` of
gate.py, which a busy machine does not disturb. The slow commit adds a loop to the encoder, whose length is chosen so
that it adds 5% to the instructions of a decision; what it costs in time is measured as well. The others add a comment
to the encoder. Needs valgrind. The answers are written to benchmarks/results/gate.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.gating import measuring
from benchmarks.gating.benches import BENCHES, ENCODER_COUNTS
from benchmarks.gating.statistics import Answer, Verdict, counted_verdict
from benchmarks.gating.trees import Tree, link

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "gate.md"
ENCODER = Path("src/ludus/games/showdown/host/observe.js")
SLOWDOWN = 0.05
LINE = "\t\town.update(request);\n"
LOOP = (
    "\t\tlet spin = 1; for (let i = 0; i < {steps}; i++) spin = (Math.imul(spin, 5) + i) | 0; globalThis.spin = spin;\n"
)
COMMENT = "\t\t// a comment that changes nothing, number {number}\n"
MANY = 400  # steps of the loop with which the cost of one is measured
TIMINGS = 4  # processes of each commit, in turn, of which the lowest time counts
TIMED = ({"units": 200, "seed": 0}, *({"units": 15, "seed": 1} for _ in range(24)))  # battles; warm-up first
ANSWER_S = 1800.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unchanged", type=int, default=10, help="number of commits that change nothing (%(default)s)")
    parser.add_argument(
        "--abreast", type=int, default=2, help="programs that are counted at the same time (%(default)s)"
    )
    arguments = parser.parse_args()
    commit = contest.commit(ROOT)  # before somebody commits more
    with tempfile.TemporaryDirectory(prefix="ludus-gate-") as folder, ThreadPoolExecutor(arguments.abreast) as pool:
        base = _commit(Path(folder) / "base", "")
        looped = _commit(Path(folder) / "looped", LOOP.format(steps=MANY))
        count, again, many = pool.map(_count, (base, base, looped))
        steps = round(SLOWDOWN * count * MANY / (many - count))
        contest.say(f"a step of the loop costs {(many - count) / count / MANY:.3%} of a decision: {steps} steps")
        slow = _commit(Path(folder) / "slow", LOOP.format(steps=steps))
        texts = [COMMENT.format(number=number + 1) for number in range(arguments.unchanged)]
        heads = [slow, *(_commit(Path(folder) / f"unchanged-{at}", text) for at, text in enumerate(texts))]
        verdicts = [counted_verdict(count, each, again) for each in pool.map(_count, heads)]
        slowdown = _slowdown(base, slow)
    caught = verdicts[0].answer is Answer.SLOWER
    alarms = sum(each.answer is not Answer.NOT_SLOWER for each in verdicts[1:])
    RESULTS.write_text("\n".join(_page(commit, verdicts, steps, slowdown, alarms)))
    contest.say(f"caught: {caught}; false alarms: {alarms} of {arguments.unchanged}; {RESULTS}")
    return int(not caught or alarms > 0)


def _commit(folder: Path, text: str) -> Tree:
    """Make a clone in which the encoder has this text behind LINE, and commit it."""
    _run("git", "clone", "--quiet", "--shared", str(ROOT), str(folder))
    source = (folder / ENCODER).read_text()
    if LINE not in source:
        raise SystemExit(f"{ENCODER} has no line {LINE.strip()!r} to put code after")
    (folder / ENCODER).write_text(source.replace(LINE, LINE + text, 1))
    identity = ("-c", "user.name=gate", "-c", "user.email=gate@localhost")
    words = ("commit", "--quiet", "--no-verify", "--all", "--allow-empty", "-m", "Change the encoder")
    _run("git", "-C", str(folder), *identity, *words)
    return Tree(_run("git", "-C", str(folder), "rev-parse", "--short", "HEAD").strip(), folder)


def _count(tree: Tree) -> int:
    with tempfile.TemporaryDirectory() as folder:  # Node sees all trees at a path of the same length
        instructions = measuring.instructions(
            ENCODER_COUNTS, BENCHES[ENCODER_COUNTS], link(Path(folder) / "tree", tree)
        )
    contest.say(f"{tree.folder.name}: {instructions:,} instructions")
    return instructions


def _slowdown(base: Tree, slow: Tree) -> float:
    """Return how much more time a decision takes with the loop, from the lowest times of both."""
    lowest = dict.fromkeys((base, slow), math.inf)
    for _ in range(TIMINGS):
        for tree in lowest:
            command = BENCHES["encoder"].command("encoder", tree)
            answers = _run(*command, words="".join(json.dumps(each) + "\n" for each in TIMED)).splitlines()
            last = json.loads(answers[-1])
            lowest[tree] = min(lowest[tree], last["cpu_s"] / last["units"])
    contest.say(", ".join(f"{tree.folder.name}: {1e6 * cost:.2f} us a decision" for tree, cost in lowest.items()))
    return lowest[slow] / lowest[base] - 1


def _page(commit: str, verdicts: list[Verdict], steps: int, slowdown: float, alarms: int) -> list[str]:
    machine, caught = contest.machine(), verdicts[0].answer is Answer.SLOWER
    lines = [
        "# What the gate answers",
        "",
        f"`python benchmarks/prove_gate.py` at {commit}, {machine['cpu']}, {machine['cores']} cores,",
        f"with `{ENCODER_COUNTS}` of gate.py: instructions, counted by valgrind. The slow commit adds a loop of",
        f"{steps} steps to the encoder, {SLOWDOWN:.0%} of its instructions; by time it was {slowdown:.1%} slower in",
        "the same run. Each of the others adds a comment to the encoder. The slow commit "
        f"{'is' if caught else 'is not'} caught; false alarms: {alarms} of {len(verdicts) - 1}.",
        "",
        "| commit | instructions, head/base | control | answer |",
        "| --- | ---: | ---: | --- |",
    ]
    for number, each in enumerate(verdicts):
        name = "slower by 5%" if number == 0 else f"unchanged {number}"
        lines.append(f"| {name} | {each.head.ratio:.4f} | {each.control.ratio:.4f} | {each.sentence} |")
    return [*lines, ""]


def _run(*command: str, words: str = "") -> str:
    return subprocess.run(command, input=words, capture_output=True, text=True, check=True, timeout=ANSWER_S).stdout


if __name__ == "__main__":
    sys.exit(main())
