"""Keeps what a training run came to: python scripts/keep_run.py RUN NAME

Appends one line to benchmarks/results/runs.jsonl and copies the run's report and learning curve beside it, so that the
figures in the README have a source.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from ludus.evaluation.intervals import wilson

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def kept(run: Path, name: str) -> dict[str, Any]:  # Any: one line of JSON
    """The final evaluation of a run, with what it took."""
    lines = [json.loads(line) for line in (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()]
    finals = [line for line in lines if line["final"]]
    if not finals:
        raise SystemExit(f"{run} has no final evaluation: let it finish first (ludus train --run-dir {run} --resume)")
    final = finals[-1]
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    return {
        "run": name,
        "commit": _commit(),
        "machine": {"cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"},
        "format": config["options"].get("format", config["game"]),
        "minutes": round(final["training_s"] / 60, 2),
        "decisions": int(final["decisions"]),
        "updates": final["updates"],
        "scores": {
            score["opponent"]: {
                "matches": score["matches"],
                "wins": score["wins"],
                "ties": score["ties"],
                "interval": [round(end, 4) for end in wilson(score["wins"], score["matches"])],
            }
            for score in final["scores"]
        },
    }


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    run, name = Path(sys.argv[1]), sys.argv[2]
    line = kept(run, name)
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    for source, suffix in (("report.md", ".md"), ("learning_curve.png", ".png")):
        text = RESULTS / f"{name}{suffix}"
        shutil.copyfile(run / source, text)
        if suffix == ".md":
            text.write_text(
                text.read_text(encoding="utf-8").replace("learning_curve.png", f"{name}.png"), encoding="utf-8"
            )
    print(json.dumps(line))


def _commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
