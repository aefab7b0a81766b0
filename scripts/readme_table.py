"""Write the tables of measured numbers in README.md, docs/evaluation.md, docs/serving.md and docs/datasets.md:
python scripts/readme_table.py

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
SPEED_BEGIN, SPEED_END = "<!-- speed: scripts/readme_table.py -->", "<!-- /speed -->"
SERVING = {
    "local": "in one process, rows/s",
    "server": "through the server, rows/s",
    "waits_5_ms": "through a server with `--max-wait-ms 5`, rows/s",
    "one_by_one": "through a server that computes row by row, rows/s",
    "local, rows per CPU s": "in one process, rows per second of CPU time",
    "server, rows per CPU s": "through the server, rows per second of its CPU time",
    "served_p50_ms": "latency at half load, median, ms",
    "served_p95_ms": "latency at half load, 95th percentile, ms",
    "added_p95_ms": "of it, added by the server, ms",
}
DATA = {
    "playing": "playing with a net, decisions/s",
    "recording": "`ludus generate` with it, decisions/s",
    "playing again": "playing recorded matches again, decisions/s",
    "rendering": "`ludus data render`, decisions/s",
    "reading, rows/s a core": "reading shuffled rows for training, rows/s a core",
    "ledger, bytes a decision": "size of the ledger, bytes a decision",
}
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
    """Return the table of kept runs that were evaluated against opponents of the first one, with 95% intervals."""
    runs: dict[str, Result] = {}
    for line in lines:
        run = json.loads(line)
        runs[run["run"]] = run
    if not runs:
        return "No run kept yet: `python scripts/keep_run.py RUN NAME`."
    opponents = tuple(next(iter(runs.values()))["scores"])
    rows = [f"| run | {' | '.join(opponents)} |", f"| --- |{' ---: |' * len(opponents)}"]
    for name, run in runs.items():
        if set(run["scores"]) <= set(opponents):  # other games have opponents, and pages, of their own
            gpu = f" and {run['machine']['gpu']}" if "gpu" in run["machine"] else ""
            machine = f"{run['machine']['cores']} cores{gpu}"
            took = f"{run['minutes']:.0f} min, {machine}, {run['decisions'] / 1e6:.1f} M decisions"
            cells = [_won(run["scores"][opponent]) if opponent in run["scores"] else "-" for opponent in opponents]
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


def speed(lines: Sequence[str], words: Mapping[str, str]) -> str:
    """Return the table of the last result of a benchmark: medians with their range over the repeats."""
    if not lines:
        return "Not measured yet."
    result = json.loads(lines[-1])
    rows = ["| measured | median | range |", "| --- | ---: | ---: |"]
    for name, what in words.items():
        row = result["rows"][name]
        low, high = (_number(row[end]) for end in ("low", "high"))
        rows.append(f"| {what} | {_number(row['median'])} | {low} to {high} |")
    machine = result["machine"]
    device = "" if result.get("device", "cpu") == "cpu" else f", {result['device']}"
    where = f"{machine['cpu']}, {machine['cores']} cores{device} (commit {result['commit']})"
    return "\n".join([*rows, "", f"Machine: {where}."])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


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
    pages = {README: readme, EVALUATION: filled(evaluation, longer(_lines(SHORT_AND_LONG)), LONGER_BEGIN, LONGER_END)}
    for name, words in (("serving", SERVING), ("data", DATA)):
        path = ROOT / "docs" / ("serving.md" if name == "serving" else "datasets.md")
        body = speed(_lines(RUNS.with_name(f"{name}.jsonl")), words)
        pages[path] = filled(path.read_text(encoding="utf-8"), body, SPEED_BEGIN, SPEED_END)
    return pages


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
