"""Draws the pictures of a league: the payoff heat map, and ratings over training."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ludus.evaluation.curve import COLOURS
from ludus.league.members import CHECKPOINT, OUTSIDER, Member
from ludus.league.standings import Standings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CELLS = 60  # members in a heat map: the highest rated
SHOWN = 28  # characters of a name


def payoff(table: Standings) -> bytes:
    """Return a PNG with the share that each member wins against each other one, by rating. Empty cells were not
    played."""
    places = [table.payoff.names.index(line.name) for line in table.lines[:MOST_CELLS]]
    n = len(places)
    shares = 100 * table.shares[np.ix_(places, places)]
    shares[table.payoff.meetings[np.ix_(places, places)] == 0] = np.nan
    size = 3.0 + 0.45 * n
    figure = _figure(min(size + 1.5, 24), min(size, 22))
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="RdBu", vmin=0, vmax=100, aspect="equal")
    labels = [shortened(line.name) for line in table.lines[:n]]
    axes.set_xticks(range(n), labels, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(
        range(n), [f"{label}  {line.elo:.0f}" for label, line in zip(labels, table.lines, strict=False)], fontsize=8
    )
    if n <= 24:
        for i, j in np.argwhere(~np.isnan(shares)):
            colour = "white" if abs(shares[i, j] - 50) > 30 else "black"
            axes.text(j, i, f"{shares[i, j]:.0f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_title("% of matches that the row wins against the column", loc="left", fontsize=10)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return _png(figure)


def ratings_over_training(table: Standings, members: Mapping[str, Member]) -> bytes | None:
    """Return a PNG with the ratings of all runs' members over their training time, or None if no run has two."""
    runs: defaultdict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for line in table.lines:
        member = members[line.name]
        if member.kind == CHECKPOINT and line.matches:
            runs[member.origin].append((member.training_s / 60, line.elo, line.low, line.high))
    if not any(len(points) > 1 for points in runs.values()):
        return None
    figure = _figure(9, 5)
    axes = figure.add_subplot()
    for index, (run, points) in enumerate(sorted(runs.items())):
        minutes, elo, low, high = zip(*sorted(points), strict=True)
        colour = COLOURS[index % len(COLOURS)]
        axes.fill_between(minutes, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(minutes, elo, color=colour, marker="o", markersize=3.5, label=shortened(run))
    for line in table.lines:
        if members[line.name].kind not in (CHECKPOINT, OUTSIDER) and line.matches:
            axes.axhline(line.elo, color="#888888", linewidth=0.8, linestyle=(0, (4, 4)))
            axes.text(0, line.elo, f" {shortened(line.name)}", fontsize=8, color="#666666", va="bottom")
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("Elo")
    axes.set_title("Ratings over training, with 95% intervals", loc="left", fontsize=11)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return _png(figure)


def _figure(width: float, height: float) -> Figure:
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def shortened(name: str) -> str:
    """Return a name that fits beside a picture, with its end, in which members of one run differ. A dollar sign would
    begin a formula."""
    if len(name) > SHOWN:
        name = name[: SHOWN - 15] + "..." + name[-12:]
    return name.replace("$", r"\$")
