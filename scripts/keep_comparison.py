"""Compare runs with many matches: python -m scripts.keep_comparison gen1=RUN gen1-long=RUN

Evaluates each run on the same matches and rewrites benchmarks/results/gen1-short-and-long.jsonl, which
docs/evaluation.md shows. 400 matches are too few to tell these presets apart. Takes some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.keep_run import latest_start, score_record
from scripts.readme_table import SHORT_AND_LONG

ASKED = ("--opponents", "max_damage,heuristic", "--matches", "4000", "--json")


def evaluation_of(run: Path) -> Mapping[str, Any]:  # Any: one page of JSON
    """Evaluate a run with `ludus eval` and return its JSON."""
    command = [sys.executable, "-m", "ludus", "eval", str(run), *ASKED]
    page: Mapping[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return page


def line(name: str, run: Path, page: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": name,
        "commit": latest_start(run)[1],
        "command": f"ludus eval RUN {' '.join(ASKED)}",
        "seed": page["seed"],
        "scores": {score["opponent"]: score_record(score) for score in page["results"]},
    }


def main() -> None:
    runs = [argument.partition("=") for argument in sys.argv[1:]]
    if len(runs) < 2 or not all(name and run for name, _, run in runs):
        raise SystemExit(__doc__)
    lines = [line(name, Path(run), evaluation_of(Path(run))) for name, _, run in runs]
    SHORT_AND_LONG.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    print(SHORT_AND_LONG.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
