"""Store the result of a training run: python scripts/keep_run.py RUN NAME [COMMIT]

Appends one line to benchmarks/results/runs.jsonl and copies the run's report and learning curve there. The tables in
the README are made from these files. COMMIT is needed for a run that did not record its commit.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ludus.metrics.intervals import wilson
from ludus.processes.cores import cores
from ludus.run import provenance
from ludus.run.provenance import Provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def run_record(run: Path, name: str, commit: str = "") -> dict[str, Any]:  # Any: one line of JSON
    """Return the final evaluation of a run, with its duration and size, as one line of runs.jsonl."""
    last, commits = latest_start(run, commit)
    lines = [json.loads(line) for line in (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()]
    finals = [line for line in lines if line["final"]]
    if not finals:
        raise SystemExit(f"{run} has no final evaluation: let it finish first (ludus train --run-dir {run} --resume)")
    final = finals[-1]
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    return {
        "run": name,
        "commit": commits,
        "machine": {"cores": last.cores, "system": last.system} | ({"gpu": last.gpu} if last.gpu else {}),
        "format": config["options"].get("format", config["game"]),
        "minutes": round(final["training_s"] / 60, 2),
        "decisions": int(final["decisions"]),
        "updates": final["updates"],
        "scores": {score["opponent"]: score_record(score) for score in final["scores"]},
    }


def score_record(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result against one opponent with its 95% interval."""
    interval = [round(end, 4) for end in wilson(score["wins"], score["matches"])]
    return {"matches": score["matches"], "wins": score["wins"], "ties": score["ties"], "interval": interval}


def latest_start(run: Path, commit: str = "") -> tuple[Provenance, str]:
    """Return the latest start of a run, and the commits of all its starts in order."""
    starts = provenance.read(run)
    commits = dict.fromkeys(start.commit or f"ludus {start.version}" for start in starts) or [commit]
    if not all(commits):
        raise SystemExit(f"{run} has no {provenance.STARTS}; name the commit it was made with as a third argument")
    return (starts or [provenance.here(cores())])[-1], ", ".join(commits)


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    run, name = Path(sys.argv[1]), sys.argv[2]
    line = run_record(run, name, *sys.argv[3:])
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    for source, suffix in (("report.md", ".md"), ("learning_curve.png", ".png")):
        text = RESULTS / f"{name}{suffix}"
        shutil.copyfile(run / source, text)
        if suffix == ".md":
            kept = text.read_text(encoding="utf-8").replace("learning_curve.png", f"{name}.png")
            text.write_text(re.sub(rf"!\[[^]]*\]\((?!{name}\.png)[^)]*\)\n\n?", "", kept), encoding="utf-8")
    print(json.dumps(line))


if __name__ == "__main__":
    main()
