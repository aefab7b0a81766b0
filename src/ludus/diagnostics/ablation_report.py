"""The report of `ludus ablate`: the table of all variants, their behaviour, and the page ablation.md."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from ludus import files
from ludus.diagnostics import ablation
from ludus.diagnostics.ablation import UNCHANGED, Ablation, AblationPlan, Effect
from ludus.diagnostics.scaling_report import NONE, TextTable
from ludus.evaluation.curve import COLOURS
from ludus.metrics.observer import ALONE

REPORT, PICTURE = "ablation.md", "ablation.png"
MOST_FACTS = 40  # rows of the table of behaviour
NOTE = (
    "Strength is the mean share of matches won in the final evaluations. The change is paired by seed. Intervals are "
    "Student's, 95%, over seeds; those of changes assume noise of the same size for all variants."
)
ALONE_NOTE = (
    "Strength is the mean return, which is computed without the term that is left out: compare the behaviour below."
)


def strengths(state: Ablation) -> TextTable:
    """Return the table of all variants: the unchanged one first, then those that lost the most."""
    plan = state.plan
    rows = []
    for each in state.effects():
        failed = f" ({each.failed} failed)" if each.failed else ""
        words = (plan.label(each.variant), f"{each.seeds}{failed}")
        rows.append((*words, _number(each), _range(each.interval), *_change(each), ablation.verdict(each, plan)))
    columns = ("variant", "seeds", "strength", "95% interval", "change", "95% interval", "")
    note = ALONE_NOTE if any(ALONE in each.shares for each in state.outcomes) else NOTE
    return TextTable(f"{_kind(plan)} of {plan.title}", columns, rows, note)


def behaviour(state: Ablation) -> TextTable | None:
    """Return the table of facts at the end of training, or None if the game reports none."""
    effects = state.effects()
    names = list(dict.fromkeys(name for each in effects for name in each.facts))[:MOST_FACTS]
    if not names:
        return None
    rows = [(name, *(f"{each.facts[name]:.3g}" if name in each.facts else NONE for each in effects)) for name in names]
    note = "Means over matches in the last tenth of the trainings."
    return TextTable("Behaviour at the end", ("", *(state.plan.label(each.variant) for each in effects)), rows, note)


def write(folder: Path, state: Ablation, command: str) -> Path:
    """Write the page and its picture, and return the path of the page. `command` repeats the ablation."""
    question = "what each change is worth" if state.plan.changes else "what each reward term is worth"
    lines = [f"# {state.plan.title}: {question}", ""]
    effects = [each for each in state.effects() if each.seeds]
    if effects:
        draw(effects, folder / PICTURE, state.plan)
        lines += [f"![Strength of all variants]({PICTURE})", ""]
    for table in (strengths(state), behaviour(state)):
        if table is not None:
            lines += [f"## {table.title}", "", *_markdown(table), "", table.note, ""]
    failures = [each for each in state.outcomes if each.failure]
    lines += [f"- {state.plan.title_of(each.training)} failed: {each.failure}" for each in failures]
    lines += ["", "## Again", "", "```", command, "```", ""]
    files.replace(folder / REPORT, "\n".join(lines).encode())
    return folder / REPORT


def draw(effects: Sequence[Effect], path: Path, plan: AblationPlan) -> None:
    """Draw the strength of each variant with its interval, and a line at the strength of the unchanged one."""
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.45 * len(effects) + 1.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for place, each in enumerate(reversed(effects)):
        low, high = each.interval or (each.strength, each.strength)
        colour = COLOURS[0] if each.variant == UNCHANGED else COLOURS[1]
        spread = [[each.strength - low], [high - each.strength]]
        axes.errorbar([each.strength], [place], xerr=spread, fmt="o", color=colour, capsize=3)
        if each.variant == UNCHANGED:
            axes.axvline(each.strength, color="#888888", linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
    axes.set_yticks(range(len(effects)), [plan.label(each.variant) for each in reversed(effects)])
    axes.set_ylim(-0.6, len(effects) - 0.4)
    axes.set_xlabel("strength, with 95% intervals over seeds")
    axes.set_title(f"{plan.title}: {_kind(plan).lower()}", loc="left", fontsize=12)
    axes.grid(axis="x", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.removeprefix("."))
    files.replace(path, picture.getvalue())


def _kind(plan: AblationPlan) -> str:
    return "Changes" if plan.changes else "Terms left out"


def _number(effect: Effect) -> str:
    return f"{effect.strength:.3f}" if effect.seeds else NONE


def _range(interval: tuple[float, float] | None) -> str:
    return NONE if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def _change(effect: Effect) -> tuple[str, str]:
    if effect.variant == UNCHANGED or not effect.seeds:
        return NONE, NONE
    return f"{effect.change:+.3f}", _range(effect.change_interval)


def _markdown(table: TextTable) -> list[str]:
    lines = [f"| {' | '.join(table.columns)} |", f"| --- |{' ---: |' * (len(table.columns) - 1)}"]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in table.rows)]
