"""Draw the win rates of runs against one opponent in one figure, over training time and over decisions.

    python benchmarks/clone_curves.py "from scratch=runs/a" "from the clone=runs/b" --opponent heuristic --out clone.png

The runs are those of docs/datasets.md: one that starts from random weights, one with `start_from`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import msgspec

from ludus.evaluation.report import EVALUATIONS

AXES: tuple[tuple[str, str, float], ...] = (
    ("minutes of training", "training_s", 60),
    ("million decisions", "decisions", 1e6),
)  # label, field of an evaluation, unit


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="LABEL=RUN")
    parser.add_argument("--opponent", default="heuristic")
    parser.add_argument("--out", type=Path, default=Path("clone.png"))
    values = parser.parse_args()
    mpl.use("Agg")
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for text in values.runs:
        label, _, run = text.partition("=")
        lines = [msgspec.json.decode(line) for line in (Path(run) / EVALUATIONS).read_bytes().splitlines()]
        scores = [next(each for each in line["scores"] if each["opponent"] == values.opponent) for line in lines]
        rates = [score["wins"] / score["matches"] for score in scores]
        for panel, (name, field, unit) in zip(panels, AXES, strict=True):
            panel.plot([line[field] / unit for line in lines], rates, marker="o", label=label)
            panel.set_xlabel(name)
        last = scores[-1]
        print(f"{label}: {lines[-1]['decisions']:,} decisions, {last['wins']} of {last['matches']} won")
    panels[0].set_ylabel(f"win rate against {values.opponent}")
    panels[0].set_ylim(0, 1)
    panels[1].legend()
    figure.tight_layout()
    figure.savefig(values.out, dpi=110)


if __name__ == "__main__":
    main()
