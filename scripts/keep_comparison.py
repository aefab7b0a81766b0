"""Keeps how runs compare by many matches: python -m scripts.keep_comparison gen1=RUN gen1-long=RUN

Evaluates each on the same match-ups and writes benchmarks/results/gen1-short-and-long.jsonl anew, from which the README
says whether the longer preset is better. By 400 matches the two can hardly be told apart. Takes some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.keep_run import begun, kept_score
from scripts.readme_table import SHORT_AND_LONG

ASKED = ("--opponents", "max_damage,heuristic", "--matches", "4000", "--json")


def evaluated(run: Path) -> Mapping[str, Any]:  # Any: one page of JSON
    """What `ludus eval` says of a run."""
    command = [sys.executable, "-m", "ludus", "eval", str(run), *ASKED]
    page: Mapping[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return page


def line(name: str, run: Path, page: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": name,
        "commit": begun(run)[1],
        "command": f"ludus eval RUN {' '.join(ASKED)}",
        "seed": page["seed"],
        "scores": {score["opponent"]: kept_score(score) for score in page["results"]},
    }


def main() -> None:
    named = [argument.partition("=") for argument in sys.argv[1:]]
    if len(named) < 2 or not all(name and run for name, _, run in named):
        raise SystemExit(__doc__)
    lines = [line(name, Path(run), evaluated(Path(run))) for name, _, run in named]
    SHORT_AND_LONG.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    print(SHORT_AND_LONG.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
