"""Write the tables of measured numbers in README.md and docs/evaluation.md: python scripts/readme_table.py

The tables are between markers and come from benchmarks/results only. The latest full result of each format, and the
latest run of each name, is shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EVALUATION = ROOT / "docs" / "evaluation.md"
RESULTS = ROOT / "benchmarks" / "results" / "showdown.jsonl"
RUNS = ROOT / "benchmarks" / "results" / "runs.jsonl"
SHORT_AND_LONG = ROOT / "benchmarks" / "results" / "gen1-short-and-long.jsonl"
BEGIN, END = "<!-- measured: scripts/readme_table.py -->", "<!-- /measured -->"
RUNS_BEGIN, RUNS_END = "<!-- runs: scripts/readme_table.py -->", "<!-- /runs -->"
LONGER_BEGIN, LONGER_END = "<!-- longer: scripts/readme_table.py -->", "<!-- /longer -->"
FULL_REPEATS = 5
ROWS = (
    ("peer", "poke-env players over a local Showdown server"),
    ("stock", "Showdown's engine alone, as published"),
    ("bare", "Showdown's engine alone, as patched by ludus"),
    ("random", "**ludus**, random policy"),
    ("policy", "**ludus**, default net"),
    ("train", "**ludus**, training"),
)

RATIOS = (("random_vs_peer", "ludus over poke-env, random policies"),)

Result = Mapping[str, Any]  # Any: one line of JSON, as the benchmark wrote it


def latest(lines: Sequence[str]) -> dict[str, Result]:
    """Return the last full result of each format, in the order in which formats were first measured."""
    results: dict[str, Result] = {}
    for line in lines:
        result = json.loads(line)
        if result["repeats"] >= FULL_REPEATS:
            results[result["format"]] = result
    return results


def table(results: Mapping[str, Result]) -> str:
    """Return the speed table: median decisions per second, and ratios with their lowest and highest repeat."""
    if not results:
        return "Not measured yet: `python benchmarks/bench_showdown.py --save`."
    lines = [f"| decisions/s | {' | '.join(results)} |", f"| --- |{' ---: |' * len(results)}"]
    for name, words in ROWS:
        cells = [f"{result['rows'][name]['median']:,.0f}" for result in results.values()]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    for name, words in RATIOS:
        lines.append(f"| {words} | {' | '.join(_ratio(result, name) for result in results.values())} |")
    machines = dict.fromkeys(f"{result['machine']['cpu']}, {result['hosts']} hosts" for result in results.values())
    commits = dict.fromkeys(str(result["commit"]) for result in results.values())
    where = f"{'; '.join(machines)} (commit {', '.join(commits)})"
    lines += ["", f"Medians; ratios with their range over the repeats. Machine: {where}."]
    return "\n".join(lines)


def _ratio(result: Result, name: str) -> str:
    low, high = result["ratio_spread"][name]
    return f"{result['ratios'][name]:.1f}x ({low:.1f} to {high:.1f})"


def strength(lines: Sequence[str]) -> str:
    """Return the table of kept runs that met the same opponents as the first one, with 95% intervals."""
    runs: dict[str, Result] = {}
    for line in lines:
        run = json.loads(line)
        runs[run["run"]] = run
    if not runs:
        return "No run kept yet: `python scripts/keep_run.py RUN NAME`."
    opponents = tuple(next(iter(runs.values()))["scores"])
    rows = [f"| run | {' | '.join(opponents)} |", f"| --- |{' ---: |' * len(opponents)}"]
    for name, run in runs.items():
        if tuple(run["scores"]) == opponents:  # other games have opponents, and pages, of their own
            took = (
                f"{run['minutes']:.0f} min, {run['machine']['cores']} cores, {run['decisions'] / 1e6:.1f} M decisions"
            )
            cells = [_won(score) for score in run["scores"].values()]
            rows.append(f"| [{name}](benchmarks/results/{name}.md): {took} | {' | '.join(cells)} |")
    return "\n".join(rows)


def longer(lines: Sequence[str]) -> str:
    """Return the table of runs that were evaluated with many matches."""
    runs: list[Result] = [json.loads(line) for line in lines]
    if not runs:
        return "Not measured yet."
    opponents = tuple(runs[0]["scores"])
    matches = runs[0]["scores"][opponents[0]]["matches"]
    rows = [f"| {matches:,} matches | {' | '.join(opponents)} |", f"| --- |{' ---: |' * len(opponents)}"]
    for run in runs:
        cells = [_won(run["scores"][opponent], digits=1) for opponent in opponents]
        rows.append(f"| {run['run']} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _won(score: Mapping[str, Any], digits: int = 0) -> str:  # Any: part of a line of JSON
    low, high = score["interval"]
    return f"{score['wins'] / score['matches']:.1%} ({low:.{digits}%} to {high:.{digits}%})"


def filled(page: str, body: str, begin: str = BEGIN, end: str = END) -> str:
    """Return the page with `body` between its markers."""
    before, has_begin, rest = page.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise SystemExit(f"the page must hold {begin} and {end}")
    return f"{before}{begin}\n{body}\n{end}{after}"


def written() -> dict[Path, str]:
    """Return the text of every page with tables, as the results are now."""
    readme = filled(README.read_text(encoding="utf-8"), table(latest(_lines(RESULTS))))
    readme = filled(readme, strength(_lines(RUNS)), RUNS_BEGIN, RUNS_END)
    evaluation = EVALUATION.read_text(encoding="utf-8")
    return {README: readme, EVALUATION: filled(evaluation, longer(_lines(SHORT_AND_LONG)), LONGER_BEGIN, LONGER_END)}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
