"""Draws the learning curve of a run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ludus import files
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.metrics.intervals import wilson
from ludus.metrics.observer import ALONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#5F5F5F",
)  # Okabe and Ito, safe for colour-blind readers
LABEL_GAP = 4.6  # least distance of two labels in percentage points
FINAL_OFFSET = 0.012  # share of the width between final points, so that they do not overlap


def draw(evaluations: Sequence[Evaluation], path: Path, title: str) -> None:
    """Draw the win rates over training minutes, one line per opponent with its 95% band. The final evaluation is drawn
    as points. For games with one seat, the mean reward per match is drawn instead."""
    alone = any(score.opponent == ALONE for each in evaluations for score in each.scores)
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    opponents = list(dict.fromkeys(score.opponent for each in evaluations for score in each.scores))
    last_minute = max(each.training_s for each in evaluations) / 60
    width = max(last_minute, 1e-3)
    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    ends: list[tuple[float, str, str]] = []
    for index, opponent in enumerate(opponents):
        colour = COLOURS[index % len(COLOURS)]
        x = width * (1 + FINAL_OFFSET * (index + 1))
        ends.append((_draw_opponent(axes, evaluations, opponent, colour, x), opponent, colour))
    right = width * (1 + FINAL_OFFSET * (len(opponents) + 1.5))
    heights = [end for end, _, _ in ends]
    for height, (end, opponent, colour) in zip(heights if alone else spread(heights), ends, strict=True):
        words = f"{end:.1f}" if alone else f"{opponent}  {end:.1f}%"
        axes.text(right, height, words, color=colour, va="center", fontsize=10, clip_on=False)
    axes.set_xlim(0, right)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("earned in a match" if alone else "matches won")
    axes.set_title(f"{title}: {'returns' if alone else 'win rates'} in training", loc="left", fontsize=12, pad=24)
    if not alone:
        axes.set_ylim(0, 100)
        axes.set_yticks(range(0, 101, 20), [f"{tick}%" for tick in range(0, 101, 20)])
        axes.axhline(50, color="#888888", linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
    axes.text(0, 1.02, _legend(evaluations), transform=axes.transAxes, fontsize=9, color="#666666", va="bottom")
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.removeprefix("."))
    files.replace(path, picture.getvalue())


def spread(heights: Sequence[float], gap: float = LABEL_GAP, low: float = 0.0, high: float = 100.0) -> list[float]:
    """Move heights apart until any two differ by at least `gap`, within low and high. Their order stays the same."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    moved = list(heights)
    ceiling = high
    for index in reversed(order):  # downwards from the top, then upwards from the bottom
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - gap
    floor = low
    for index in order:
        moved[index] = max(moved[index], floor)
        floor = moved[index] + gap
    return moved


def _draw_opponent(axes: Axes, evaluations: Sequence[Evaluation], opponent: str, colour: str, final_x: float) -> float:
    """Draw one opponent and return the height at which its label belongs."""
    points = [(each, score) for each in evaluations for score in each.scores if score.opponent == opponent]
    during = [(each.training_s / 60, *_height(score)) for each, score in points if not each.final]
    end = 0.0
    if during:
        minutes, rates, lows, highs = zip(*during, strict=True)
        axes.fill_between(minutes, lows, highs, color=colour, alpha=0.11, linewidth=0)
        axes.plot(minutes, rates, color=colour, linewidth=2, marker="o", markersize=3.5, clip_on=False)
        end = rates[-1]
    for _, score in (point for point in points if point[0].final):
        end, low, high = _height(score)
        axes.errorbar(
            [final_x],
            [end],
            [[end - low], [high - end]],
            color=colour,
            fmt="D",
            markersize=5,
            capsize=3,
            clip_on=False,
            zorder=3,
        )
    return end


def _legend(evaluations: Sequence[Evaluation]) -> str:
    parts = []
    for final, words in ((False, "line and band: {} matches each"), (True, "diamond: final, {} matches each")):
        counts = [score.matches for each in evaluations if each.final == final for score in each.scores]
        if counts:
            parts.append(words.format(counts[-1]))
    alone = any(score.opponent == ALONE for each in evaluations for score in each.scores)
    return ", ".join((*parts, "95% intervals" if alone else "95% Wilson intervals"))


def _height(score: Score) -> tuple[float, float, float]:
    if score.opponent == ALONE:
        return score.reward, *score.reward_interval
    low, high = wilson(score.wins, score.matches)
    rate = score.wins / score.matches if score.matches else 0.0
    return 100 * rate, 100 * low, 100 * high
