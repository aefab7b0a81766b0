"""Draws reward terms and other facts of a run over training."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

from ludus import files
from ludus.evaluation.curve import COLOURS
from ludus.metrics.reward_terms import Curve

COLUMNS = 3  # pictures in a row
MOST = 60  # pictures of one file; a host may report more facts than anybody looks at
HEIGHT_IN = 2.2


def draw(curves: Sequence[Curve], path: Path, title: str) -> None:
    """Draw a small picture of each curve, all over minutes of training. Each has an axis of its own."""
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves = curves[:MOST]
    rows = math.ceil(len(curves) / COLUMNS)
    figure = Figure(figsize=(9, HEIGHT_IN * rows + 0.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title.replace("$", r"\$"), x=0.01, ha="left", fontsize=12)
    width = max(max(curve.minutes) for curve in curves)
    for index, curve in enumerate(curves):
        axes = figure.add_subplot(rows, COLUMNS, index + 1)
        axes.plot(curve.minutes, curve.values, color=COLOURS[0], linewidth=1.3)
        axes.axhline(0, color="#888888", linewidth=0.6, zorder=0)
        axes.set_title(curve.name.replace("$", r"\$"), loc="left", fontsize=9)
        axes.set_xlim(0, max(width, 1e-3))
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=0, labelsize=7)
    figure.supxlabel("minutes of training", fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.removeprefix("."))
    files.replace(path, picture.getvalue())
