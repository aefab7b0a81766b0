"""Draws the rewards of one match: for each seat its reward terms, added up over the turns, and the value estimates."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.evaluation.curve import COLOURS
from ludus.evaluation.reward_timeline import Series, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SEATS = 8  # panels of one picture
STYLES = ("-", "--", ":", "-.")  # terms beyond the number of colours differ in their lines
HEIGHT_IN = 2.6


def draw(timeline: Timeline, policies: Sequence[str], title: str) -> bytes:
    """Return a PNG. `policies` names who plays each seat."""
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    seats = min(len(policies), MOST_SEATS)
    panels = seats + (timeline.value is not None)
    figure = Figure(figsize=(10, HEIGHT_IN * panels + 0.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_plain(title), x=0.01, ha="left", fontsize=12)
    styles = _styles(timeline)
    first: Axes | None = None
    for seat in range(seats):
        axes = figure.add_subplot(panels, 1, seat + 1, sharex=first, sharey=first)
        first = first or axes
        _draw_terms(axes, timeline, seat, styles)
        _finish(axes, f"seat {seat}, {policies[seat]}: reward so far")
    if timeline.value is not None:
        axes = figure.add_subplot(panels, 1, panels, sharex=first)
        for seat in range(seats):
            colour = COLOURS[seat % len(COLOURS)]
            _line(axes, timeline.value, seat, label=f"seat {seat}", color=colour, linewidth=1.3)
        _finish(axes, "value: the discounted rewards that the checkpoint expects from here on")
    figure.supxlabel("turn", fontsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def into_page(page: str, picture: bytes, timeline: Timeline) -> str:
    """Return the HTML page with the picture at its end. The text for screen readers contains the totals."""
    totals = "; ".join(
        f"{name}: {', '.join(f'{value:.3g}' for value in values)}" for name, values in timeline.totals().items()
    )
    data = base64.b64encode(picture).decode()
    alt = html.escape(f"Reward terms over the match. Totals of each seat: {totals}", quote=True)
    figure = f'<h2>Rewards</h2>\n<img alt="{alt}" width="100%" src="data:image/png;base64,{data}">\n'
    before, end, after = page.rpartition("</body>")
    return before + figure + end + after if end else page + figure


def _styles(timeline: Timeline) -> dict[str, dict[str, Any]]:  # Any: settings of matplotlib
    """Return how the line of each term is drawn. Terms that no seat earned are left out."""
    earned = [name for name, series in timeline.terms.items() if np.any(series)]
    places = {name: divmod(index, len(COLOURS)) for index, name in enumerate(earned)}
    return {
        name: {"color": COLOURS[colour], "linestyle": STYLES[style % len(STYLES)], "linewidth": 1.3}
        for name, (style, colour) in places.items()
    }


def _draw_terms(axes: Axes, timeline: Timeline, seat: int, styles: dict[str, dict[str, Any]]) -> None:  # Any: as above
    _line(axes, np.cumsum(timeline.reward, axis=0), seat, label="all rewards", color="#000000", linewidth=3.0)
    for name, style in styles.items():
        _line(axes, np.cumsum(timeline.terms[name], axis=0), seat, label=_plain(name), **style)


def _line(axes: Axes, series: Series, seat: int, **style: Any) -> None:  # Any: settings of matplotlib
    turns = np.flatnonzero(np.isfinite(series[:, seat]))
    axes.plot(turns, series[turns, seat], marker="." if len(turns) <= 30 else "", **style)


def _finish(axes: Axes, title: str) -> None:
    axes.axhline(0, color="#888888", linewidth=0.6, zorder=0)
    axes.set_title(_plain(title), loc="left", fontsize=9)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7, frameon=False)


def _plain(text: str) -> str:
    """Return the text so that matplotlib reads no formula in it."""
    return text.replace("$", r"\$")
