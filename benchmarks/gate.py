"""Say whether a commit is slower than another: both are checked out side by side and measured interleaved.

    python benchmarks/gate.py BASE..HEAD [--bench showdown,fleet] [--budget 10m] [--save]

Every benchmark ends with one of three answers: slower by x%, not slower than 3%, or cannot tell: N more trials. A trial
starts a process of each commit and one more of BASE, the control, and measures them in rotation with equal work.
Verdicts compare CPU time, which other programs on the machine disturb less; wall-clock time is shown beside it. The
interval of the ratio is a bootstrap over trials, widened by what the control shows. `counts` and `encoder-counts` need
valgrind: they compare instructions, which hardly vary, also on a busy machine. Only commits are compared, not
uncommitted changes.

Exit code: 0 not slower; 1 slower in at least one benchmark; 3 cannot tell in at least one; 2 no comparison possible.
The last line on stdout is one JSON object; --save appends it to benchmarks/results/gate.jsonl.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.gating import measuring, trees
from benchmarks.gating.benches import BENCHES, COUNTED, chosen, valgrind
from benchmarks.gating.measuring import Measured
from benchmarks.gating.statistics import BASE, CONTROL, HEAD, Answer, interval
from benchmarks.gating.trees import GateError, Tree

RESULTS = Path(__file__).parent / "results" / "gate.jsonl"
PASSED, SLOWER, NO_COMPARISON, CANNOT_TELL = 0, 1, 2, 3


def main() -> int:
    arguments = _arguments()
    try:
        names, budget_s = list(chosen(arguments.bench)), measuring.seconds(arguments.budget)
        if not arguments.bench and valgrind() is None:
            contest.say(f"{', '.join(COUNTED)} are left out: valgrind is not installed")
            names = [name for name in names if name not in COUNTED]
        if trees.uncommitted():
            contest.say("uncommitted changes are not measured: commit them first")
        with trees.side_by_side(arguments.revisions) as (base, head):
            contest.say(f"base {base.commit}, head {head.commit}: {', '.join(names)} within {budget_s:.0f} s")
            results = _measure_all(names, base, head, budget_s)
    except GateError as error:
        contest.say(f"gate: {error}")
        return NO_COMPARISON
    _show(results)
    line = json.dumps(_result(base, head, results))
    if arguments.save:
        with RESULTS.open("a") as file:
            file.write(line + "\n")
    print(line)
    return exit_code(results)


def exit_code(results: dict[str, Measured]) -> int:
    answers = {each.verdict.answer for each in results.values()}
    if Answer.SLOWER in answers:
        return SLOWER
    return CANNOT_TELL if Answer.CANNOT_TELL in answers else PASSED


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revisions", metavar="BASE..HEAD", nargs="?", default="HEAD~1..HEAD", help="two commits")
    benches = "; ".join(f"{name}: {bench.summary}" for name, bench in BENCHES.items())
    parser.add_argument("--bench", default="", help=f"benchmarks, separated by commas; default: all. {benches}")
    parser.add_argument("--budget", default="10m", help="time for all benchmarks: 90s, 10m, 1h30m (default: 10m)")
    parser.add_argument("--save", action="store_true", help="append the result to benchmarks/results/gate.jsonl")
    return parser.parse_args()


def _measure_all(names: list[str], base: Tree, head: Tree, budget_s: float) -> dict[str, Measured]:
    """Measure each benchmark in its share of the time that is left; a clear answer leaves more for the others."""
    results: dict[str, Measured] = {}
    until_s = time.monotonic() + budget_s
    for place, name in enumerate(names):
        share_s = max(until_s - time.monotonic(), 0.0) / (len(names) - place)
        results[name] = measuring.measure(name, BENCHES[name], base, head, budget_s=share_s, say=contest.say)
    return results


def _show(results: dict[str, Measured]) -> None:
    print(f"{'benchmark':<10} {'trials':>6}  {'CPU, head/base':<26} {'control':<26} {'wall-clock':<11} answer")
    for name, each in results.items():
        wall = f"{interval(each.wall_ratios[HEAD]).ratio:.3f}" if each.wall_ratios[HEAD] else ""
        verdict = each.verdict
        ratios = f"{verdict.head!s:<26} {verdict.control!s:<26} {wall:<11}"
        print(f"{name:<10} {verdict.trials:>6}  {ratios} {verdict.sentence}")


def _result(base: Tree, head: Tree, results: dict[str, Measured]) -> dict[str, object]:
    return {
        "bench": "gate",
        "commit": head.commit,
        "base": base.commit,
        "machine": contest.machine(),
        "unit": "CPU s a unit of work; of counts and encoder-counts, instructions",
        "rows": {f"{name}, {who}": each.row(who) for name, each in results.items() for who in (BASE, HEAD, CONTROL)},
        "ratios": {name: round(each.verdict.head.ratio, 4) for name, each in results.items()},
        "ratio_spread": {
            name: [round(each.verdict.head.low, 4), round(each.verdict.head.high, 4)] for name, each in results.items()
        },
        "control": {name: round(each.verdict.control.ratio, 4) for name, each in results.items()},
        "trials": {name: each.verdict.trials for name, each in results.items()},
        "answers": {name: each.verdict.sentence for name, each in results.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
