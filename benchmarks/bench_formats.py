"""Train an agent for each format of random battles and put their results into one table: leave it running overnight.

    python benchmarks/bench_formats.py --minutes 45 [--out runs/formats] [--formats gen1randombattle ...] [--beside 4]

Singles of generations 1 to 9, then doubles of generation 9; the simulator makes no random doubles in others. Each
format is one run, in its own folder of --out. Call the command again after Ctrl-C or a crash: finished formats are
kept, and the one under way is resumed. After each format, formats.md in --out is written again. A format that fails is
named in the table, and the next one follows. --beside 4 trains four formats at the same time, each on a quarter of the
cores. --quick trains for one minute and plays 40 matches. --save also writes benchmarks/results/formats.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.diagnostics.ablation_training import shares_of_cores
from ludus.metrics.exporters import evaluations
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.metrics.intervals import wilson
from ludus.processes.command import ISOLATED
from ludus.processes.cores import cores
from ludus.run.folder import has_checkpoint

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "formats.md"
PAGE = "formats.md"
SINGLES = tuple(f"gen{gen}randombattle" for gen in range(1, 10))
DOUBLES = ("gen9randomdoublesbattle",)
OPPONENTS = ("max_damage", "heuristic")
QUICK_MINUTES, QUICK_MATCHES = 1.0, 40
GRACE_S = 1800.0  # for the start and the evaluation of a run, beyond its minutes
INTERRUPTED = 130  # exit status after Ctrl-C


@dataclass(frozen=True, slots=True)
class FormatResult:
    """A line of the table. `failure` says why there is no evaluation."""

    format: str
    evaluation: Evaluation | None
    failure: str = ""


def main() -> None:
    arguments = _arguments()
    minutes = QUICK_MINUTES if arguments.quick else arguments.minutes
    matches = QUICK_MATCHES if arguments.quick else arguments.matches
    arguments.out.mkdir(parents=True, exist_ok=True)
    parts = shares_of_cores(arguments.beside)
    results: list[FormatResult] = []

    def train(battle: str) -> FormatResult:
        return trained(battle, arguments.out / battle, minutes, matches, arguments.set or ())

    for result in beside(arguments.formats, parts, train):
        results.append(result)
        results.sort(key=lambda each: arguments.formats.index(each.format))
        page = table(results, f"{minutes:g} minutes of training for each format, on {len(parts[0])} cores")
        (arguments.out / PAGE).write_text(page, encoding="utf-8")
    if arguments.save:
        RESULTS.write_text(page, encoding="utf-8")
    print(page)
    print(json.dumps(summary(results)))


def beside(
    battles: Sequence[str], parts: Sequence[Sequence[int]], train: Callable[[str], FormatResult]
) -> Iterator[FormatResult]:
    """Train formats at the same time, as many as there are parts of the cores, and yield results as they come."""
    free: SimpleQueue[Sequence[int]] = SimpleQueue()
    for part in parts:
        free.put(part)

    def pin() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, free.get())  # of this thread; the runs that it starts inherit it

    def timed(battle: str) -> FormatResult:
        began_s = time.monotonic()
        result = train(battle)
        contest.say(f"{battle}: {result.failure or 'done'} after {(time.monotonic() - began_s) / 60:.1f} min")
        return result

    with ThreadPoolExecutor(len(parts), initializer=pin) as pool:
        running = [pool.submit(timed, battle) for battle in battles]
        try:
            for future in as_completed(running):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def trained(battle: str, folder: Path, minutes: float, matches: int, sets: Sequence[str]) -> FormatResult:
    """Train and evaluate in `folder`, or continue there, or return what is there already."""
    if (evaluation := final_evaluation(folder)) is not None:
        return FormatResult(battle, evaluation)
    command = [*ISOLATED, "ludus", "train", *arguments_of(battle, folder, minutes, matches, sets)]
    try:
        status = subprocess.run(command, check=False, timeout=60 * minutes + GRACE_S).returncode
    except subprocess.TimeoutExpired:
        return FormatResult(battle, None, "did not end in time")
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    evaluation = final_evaluation(folder)
    return FormatResult(battle, evaluation, "" if evaluation is not None else f"failed (exit status {status})")


def arguments_of(battle: str, folder: Path, minutes: float, matches: int, sets: Sequence[str]) -> list[str]:
    """Return the arguments of `ludus train` that begin or continue the run of a format."""
    if has_checkpoint(folder):
        return ["--resume", "--run-dir", str(folder)]
    preset = "gen1" if battle == SINGLES[0] else "gen9doubles" if battle in DOUBLES else "gen9"
    settings = (
        f"options.format={battle}",
        f"budget.minutes={minutes:g}",
        f"evaluation.matches={matches}",
        f"evaluation.opponents=[{','.join(OPPONENTS)}]",
        *sets,
    )
    return [preset, "--run-dir", str(folder), *(word for setting in settings for word in ("--set", setting))]


def final_evaluation(folder: Path) -> Evaluation | None:
    """Return the evaluation that ended the run in `folder`, or None if it has not ended."""
    history = evaluations.read(folder / "evaluations.jsonl") if folder.is_dir() else []
    return history[-1] if history and history[-1].final else None


def table(results: Sequence[FormatResult], title: str) -> str:
    """Return the results as a page in Markdown."""
    lines = [
        "# Random battles of all generations",
        "",
        f"Written by `benchmarks/bench_formats.py`: {title}. Win rates with 95% intervals; a tie is no win.",
        "",
        f"| format | decisions | matches | {' | '.join(OPPONENTS)} |",
        "| --- | ---: | ---: |" + " ---: |" * len(OPPONENTS),
    ]
    for result in results:
        if result.evaluation is None:
            lines.append(f"| {result.format} | {result.failure} | | {' | ' * (len(OPPONENTS) - 1)} |")
            continue
        scores = {score.opponent: score for score in result.evaluation.scores}
        cells = [_cell(scores.get(name)) for name in OPPONENTS]
        matches = max((score.matches for score in scores.values()), default=0)
        lines.append(f"| {result.format} | {result.evaluation.decisions:,.0f} | {matches:,} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cell(score: Score | None) -> str:
    if score is None:
        return "-"
    low, high = wilson(score.wins, score.matches)
    return f"{score.wins / score.matches:.1%} [{low:.1%} to {high:.1%}]"


def summary(results: Sequence[FormatResult]) -> dict[str, object]:
    """Return the last line on stdout."""
    rows = {
        result.format: {score.opponent: round(score.wins / score.matches, 4) for score in result.evaluation.scores}
        for result in results
        if result.evaluation is not None
    }
    failures = {result.format: result.failure for result in results if result.evaluation is None}
    return {
        "bench": "formats",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "rows": rows,
        "failures": failures,
        "ratios": {},
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=45.0, help="training time of each format (45)")
    parser.add_argument("--matches", type=int, default=1000, help="matches against each opponent at the end (1,000)")
    parser.add_argument("--out", type=Path, default=Path("runs/formats"), help="folder of the runs (runs/formats)")
    parser.add_argument("--formats", nargs="+", default=[*SINGLES, *DOUBLES], help="formats, in this order")
    parser.add_argument("--set", action="append", metavar="A.B=VALUE", help="a setting of all runs, as in ludus train")
    parser.add_argument(
        "--beside", type=int, default=1, help="formats trained at the same time, on parts of the cores (1)"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_MINUTES:g} minute and {QUICK_MATCHES} matches")
    parser.add_argument("--save", action="store_true", help=f"also write {RESULTS.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if not 1 <= arguments.beside <= cores():
        parser.error(f"--beside: each format needs a core of its own, and there are {cores()}")
    return arguments


if __name__ == "__main__":
    main()
