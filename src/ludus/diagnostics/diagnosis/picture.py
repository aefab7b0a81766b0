"""The picture of a diagnosis: the speed of each stage alone and of the whole, and the ceilings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ludus.diagnostics.diagnosis import record
from ludus.diagnostics.diagnosis.record import Diagnosis
from ludus.evaluation.curve import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES = (
    (record.ENV_RATE, "hosts without a policy"),
    (record.ROW_RATE, "policy alone"),
    (record.PLAY_RATE, "hosts and policy"),
    (record.UPDATE_RATE, "learner alone"),
    (record.WHOLE_RATE, "the whole run"),
)


def draw(diagnosis: Diagnosis, path: Path) -> bool:
    """Write the picture. Returns False, and writes nothing, if no stage has a speed."""
    if not any(name in diagnosis.measures for name, _ in STAGES):
        return False
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = 2 if diagnosis.ceilings else 1
    figure = Figure(figsize=(5.2 * panels, 3.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _speeds(axes[0], diagnosis)
    if diagnosis.ceilings:
        _ceilings(axes[1], diagnosis)
    figure.suptitle(f"{diagnosis.title}, {diagnosis.machine.cores} cores".replace("$", r"\$"), fontsize=10)
    figure.savefig(path)
    return True


def _speeds(axes: Axes, diagnosis: Diagnosis) -> None:
    entries = [(words, diagnosis.measures[name]) for name, words in STAGES if name in diagnosis.measures]
    places = range(len(entries))
    medians = [measure.median for _, measure in entries]
    spread = [
        [measure.median - measure.low for _, measure in entries],
        [measure.high - measure.median for _, measure in entries],
    ]
    axes.barh(places, medians, xerr=spread, color=COLOURS[0], ecolor="#333333", height=0.6)
    highest = [measure.high for _, measure in entries]
    for at, median, high in zip(places, medians, highest, strict=True):
        axes.annotate(f"{median:,.0f}", (high, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(0, 1.15 * max(highest))
    axes.set_yticks(places, [words for words, _ in entries], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("decisions/s", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _ceilings(axes: Axes, diagnosis: Diagnosis) -> None:
    places = range(len(diagnosis.ceilings))
    factors = [each.factor for each in diagnosis.ceilings]
    axes.barh(places, [factor - 1 for factor in factors], left=1, color=COLOURS[1], height=0.6)
    for at, factor in zip(places, factors, strict=True):
        axes.annotate(f"{factor:.2f}", (factor, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(places, [each.part for each in diagnosis.ceilings], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(1, max(1.1, 1 + 1.2 * (max(factors) - 1)))
    axes.set_xlabel("speed-up if this part cost nothing", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
