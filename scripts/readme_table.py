"""Writes the table of measured numbers in README.md from benchmarks/results: python scripts/readme_table.py

Numbers stand between two markers and are never typed by hand. Of each format the latest full result counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "showdown.jsonl"
BEGIN, END = "<!-- measured: scripts/readme_table.py -->", "<!-- /measured -->"
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
    """Decisions per second, medians."""
    if not results:
        return "Not measured yet: `python benchmarks/bench_showdown.py --save`."
    lines = [f"| decisions/s | {' | '.join(results)} |", f"| --- |{' ---: |' * len(results)}"]
    for name, words in ROWS:
        cells = [f"{result['rows'][name]['median']:,.0f}" for result in results.values()]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    ratios = [f"{result['ratios']['random_vs_peer']:.1f}x" for result in results.values()]
    lines.append(f"| ludus over poke-env, random policies | {' | '.join(ratios)} |")
    machines = dict.fromkeys(f"{result['machine']['cpu']}, {result['hosts']} hosts" for result in results.values())
    commits = dict.fromkeys(str(result["commit"]) for result in results.values())
    lines += ["", f"Medians of interleaved repeats on {'; '.join(machines)} (commit {', '.join(commits)})."]
    return "\n".join(lines)


def filled(readme: str, body: str) -> str:
    """The README with that text between its markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md must hold {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


def measured() -> str:
    """What should stand between the markers now."""
    return table(latest(RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []))


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8"), measured()), encoding="utf-8")
    print(f"wrote {README}")
