"""Writes the table of measured numbers in README.md from benchmarks/results: python scripts/readme_table.py

Numbers stand between markers and are never typed by hand. Of each format, and of each kind of run, the latest full
result counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
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
    ("bare", "Showdown's engine alone, sped up"),
    ("ceiling", "the same with masks and observations"),
    ("random", "**ludus**, random policy"),
    ("policy", "**ludus**, default net"),
    ("train", "**ludus**, training"),
)

RATIOS = (
    ("patched_vs_stock", "the engine sped up over published"),
    ("random_vs_peer", "ludus over poke-env, random policies"),
)

Result = Mapping[str, Any]  # Any: one line of JSON, as the benchmark wrote it


def latest(lines: Sequence[str]) -> dict[str, Result]:
    """The last full result of each format, in the order in which formats were first measured."""
    found: dict[str, Result] = {}
    for line in lines:
        result = json.loads(line)
        if result["repeats"] >= FULL_REPEATS:
            found[result["format"]] = result
    return found


def table(results: Mapping[str, Result]) -> str:
    """Decisions per second, medians; ratios of medians, with the lowest and highest within one repeat."""
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
    lines += ["", f"Medians of interleaved repeats, ratios with their spread over repeats, on {where}."]
    return "\n".join(lines)


def _ratio(result: Result, name: str) -> str:
    low, high = result["ratio_spread"][name]
    return f"{result['ratios'][name]:.1f}x ({low:.1f} to {high:.1f})"


def strength(lines: Sequence[str]) -> str:
    """Matches won of those played at the end of each kept run, with 95% intervals."""
    runs: dict[str, Result] = {}
    for line in lines:
        run = json.loads(line)
        runs[run["run"]] = run
    if not runs:
        return "No run kept yet: `python scripts/keep_run.py RUN NAME`."
    tables: dict[tuple[str, ...], list[str]] = {}  # by the opponents, for games have their own
    for name, run in runs.items():
        opponents = tuple(run["scores"])
        heading = [f"| run | {' | '.join(opponents)} |", f"| --- |{' ---: |' * len(opponents)}"]
        took = f"{run['minutes']:.0f} min, {run['machine']['cores']} cores, {run['decisions'] / 1e6:.1f} M decisions"
        cells = [_won(score) for score in run["scores"].values()]
        row = f"| [{name}](benchmarks/results/{name}.md): {took} | {' | '.join(cells)} |"
        tables.setdefault(opponents, heading).append(row)
    return "\n\n".join("\n".join(rows) for rows in tables.values())


def longer(lines: Sequence[str]) -> str:
    """Runs of which evaluations by many matches were kept, one below the other."""
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


def filled(readme: str, body: str, begin: str = BEGIN, end: str = END) -> str:
    """The README with that text between its markers."""
    before, found_begin, rest = readme.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"README.md must hold {begin} and {end}")
    return f"{before}{begin}\n{body}\n{end}{after}"


def written(readme: str) -> str:
    """The README with every table as the results have it now."""
    lines = _lines(RESULTS)
    readme = filled(readme, table(latest(lines)))
    readme = filled(readme, strength(_lines(RUNS)), RUNS_BEGIN, RUNS_END)
    return filled(readme, longer(_lines(SHORT_AND_LONG)), LONGER_BEGIN, LONGER_END)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {README}")
