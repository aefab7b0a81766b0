"""Draws the rating of a run over training."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from ludus import files
from ludus.evaluation.curve import COLOURS
from ludus.league.rating_history import RunRatings
from ludus.metrics.exporters.evaluations import Evaluation


def draw(history: Sequence[Evaluation], ratings: RunRatings, path: Path, title: str) -> None:
    """Draw Elo over minutes of training with a 95% band, and a line for each scripted opponent."""
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    points = [(each.training_s / 60, rated) for each, rated in zip(history, ratings.evaluations, strict=True)]
    during = [point for point, each in zip(points, history, strict=True) if not each.final] or points
    last = points[-1]
    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    minutes = [minute for minute, _ in during]
    axes.fill_between(
        minutes, [each.low for _, each in during], [each.high for _, each in during], color=COLOURS[0], alpha=0.13
    )
    axes.plot(minutes, [each.elo for _, each in during], color=COLOURS[0], marker="o", markersize=3.5)
    width = max(*minutes, last[0], 1e-3)
    rated = last[1]
    axes.errorbar(
        [width * 1.02],
        [rated.elo],
        [[rated.elo - rated.low], [rated.high - rated.elo]],
        color=COLOURS[0],
        fmt="D",
        capsize=3,
    )
    axes.text(width * 1.035, rated.elo, f"{rated.elo:.0f}", color=COLOURS[0], va="center", fontsize=10)
    for name, opponent in ratings.opponents.items():
        axes.axhline(opponent.elo, color="#888888", linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
        axes.text(0, opponent.elo, f" {name} {opponent.elo:.0f}", fontsize=8, color="#666666", va="bottom")
    axes.set_xlim(0, width * 1.1)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("Elo")
    axes.set_title(f"{title}: rating in training ({ratings.anchor} = 1000)", loc="left", fontsize=12)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.removeprefix("."))
    files.replace(path, picture.getvalue())
