"""The picture of a scaling benchmark: a heat map of decisions/s over hosts and matches for each number of servers, and
the efficiency compared with linear growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludus.diagnostics import scaling
from ludus.diagnostics.scaling import NEAR, FleetSize, Growth, StudyPlan, Summary, Verdict, counted
from ludus.evaluation.curve import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ludus.diagnostics.study import Study

GREY = "#666666"
LINES_WIDE, LINES_HIGH = 3.9, 3.6  # inches of a panel of lines
_CENTRED: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}  # Any: matplotlib's keywords


def draw(study: Study, path: Path) -> bool:
    """Write the picture to `path`. Returns False, and writes nothing, if no trial succeeded."""
    summaries = scaling.summarise(study.plan, study.trials)
    rates = scaling.rates(summaries)
    if not rates:
        return False
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    growth_by_axis = {axis: growth for axis in scaling.AXES if (growth := scaling.growth(rates, axis))}
    plan = study.plan
    figure = Figure(dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    maps, lines = _panels(figure, plan, len(growth_by_axis))
    summary_of, verdict = {each.size: each for each in summaries}, scaling.judge(summaries)
    for axes, servers in zip(maps, plan.servers or (0,), strict=True):
        _heat_map(axes, plan, servers, summary_of, verdict)
    for axes, axis in zip(lines, growth_by_axis, strict=True):
        _efficiency(axes, axis, growth_by_axis[axis])
    words = f"median of {plan.repeats} repeats" if plan.repeats > 1 else "one repeat"
    figure.suptitle(f"{plan.title}, policy {Path(plan.policy).name}, {study.machine.cores} cores, {words}", fontsize=11)
    figure.savefig(path)
    return True


def _panels(figure: Figure, plan: StudyPlan, lines: int) -> tuple[Sequence[Axes], Sequence[Axes]]:
    """Return the axes of the heat maps and of the line plots, which stand below the maps if there are several maps."""
    maps = len(plan.servers) or 1
    across, high = (
        max(3.4, 1.05 * len(plan.matches) + 0.6),
        max(3.9, 0.62 * len(plan.hosts) + 2.4),
    )  # of a map, in inches
    if maps == 1 or lines == 0:
        figure.set_size_inches(max(6.5, maps * across + 1.2 + LINES_WIDE * lines), high)
        widths = [across + 0.6] * maps + [LINES_WIDE] * lines
        panels = figure.subplots(1, maps + lines, width_ratios=widths, squeeze=False)[0]
        return panels[:maps], panels[maps:]
    figure.set_size_inches(max(6.5, maps * (across + 0.8), LINES_WIDE * lines), high + LINES_HIGH)
    rows = figure.add_gridspec(2, 1, height_ratios=[high, LINES_HIGH])
    above, below = figure.add_subfigure(rows[0, 0]), figure.add_subfigure(rows[1, 0])
    return above.subplots(1, maps, squeeze=False)[0], below.subplots(1, lines, squeeze=False)[0]


def _heat_map(
    axes: Axes, plan: StudyPlan, servers: int, summaries: Mapping[FleetSize, Summary], verdict: Verdict | None
) -> None:
    """Draw the rates of all fleet sizes with this number of servers. All maps share one colour scale."""
    import numpy as np

    hosts, matches = plan.hosts, plan.matches
    rates = np.full((len(hosts), len(matches)), np.nan)
    for i, host in enumerate(hosts):
        for j, match in enumerate(matches):
            summary = summaries.get(FleetSize(host, match, servers))
            if summary is not None and summary.decisions_per_s is not None:
                rates[i, j] = summary.decisions_per_s.median
    high = max(scaling.rates(summaries.values()).values()) or 1.0
    axes.set_facecolor("#EEEEEE")
    axes.imshow(rates, cmap="Blues", vmin=0.0, vmax=1.25 * high, aspect="auto", origin="lower")
    for i, host in enumerate(hosts):
        for j, match in enumerate(matches):
            size = FleetSize(host, match, servers)
            _write(axes, j, i, summaries.get(size), "white" if rates[i, j] > 0.75 * high else "#222222")
            if verdict is not None and size in (verdict.best, verdict.smallest):
                _frame(axes, j, i, solid=size == verdict.best)
    axes.set_xticks(range(len(matches)), [str(match) for match in matches])
    axes.set_yticks(range(len(hosts)), [str(host) for host in hosts])
    axes.set_xlabel(f"matches at once on each host\n{_frames(verdict)}")
    axes.set_ylabel("hosts")
    where = f"on {counted(servers, 'servers')}" if servers else "below it the lowest and highest repeat"
    axes.set_title(f"decisions/s, {where}", fontsize=10, loc="left")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _write(axes: Axes, x: int, y: int, summary: Summary | None, colour: str) -> None:
    big, small = _size_words(summary)
    axes.annotate(big, (x, y), (0, 5 if small else 0), **_CENTRED, color=colour, fontsize=11)
    axes.annotate(small, (x, y), (0, -8), **_CENTRED, color=colour, fontsize=7.5)


def _frames(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    return "framed: the best" + (
        "" if verdict.smallest == verdict.best else f", dashed: the smallest within {NEAR:.0%}"
    )


def _frame(axes: Axes, x: int, y: int, *, solid: bool) -> None:
    from matplotlib.patches import Rectangle

    style = "-" if solid else (0, (3, 2))
    axes.add_patch(
        Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fill=False, edgecolor=COLOURS[1], linewidth=2, linestyle=style)
    )


def _size_words(summary: Summary | None) -> tuple[str, str]:
    """Return the large and the small text of a field of the map."""
    if summary is None:
        return "", "not played"
    spread = summary.decisions_per_s
    if spread is None:
        return "failed", ""
    small = f"{_short(spread.low)} to {_short(spread.high)}" if summary.trials - summary.failed > 1 else ""
    return _short(spread.median), "timed out" if summary.state == "timed out" else small


def _short(rate: float) -> str:
    """Format a rate in about four characters: 812, 7.35k, 15.9k, 120k."""
    if rate < 1000:
        return f"{rate:.0f}"
    return (
        f"{rate / 1000:.2f}k" if rate < 10_000 else f"{rate / 1000:.1f}k" if rate < 100_000 else f"{rate / 1000:.0f}k"
    )


def _efficiency(axes: Axes, axis: str, growths: Sequence[Growth]) -> None:
    """Draw one line for each combination of the other axes."""
    numbers = sorted({getattr(each.size, axis) for each in growths})
    lines: dict[FleetSize, list[Growth]] = {}
    for each in growths:
        lines.setdefault(each.base, []).append(each)
    varying = [other for other in scaling.AXES if other != axis and len({getattr(base, other) for base in lines}) > 1]
    for index, (base, line) in enumerate(sorted(lines.items())):
        axes.plot(
            [numbers.index(getattr(each.size, axis)) for each in line],
            [100 * each.efficiency for each in line],
            color=COLOURS[index % len(COLOURS)],
            marker="o",
            markersize=4,
            linewidth=1.8,
            label=", ".join(counted(getattr(base, other), other) for other in varying) or "measured",
        )
    axes.axhline(100, color="#888888", linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
    axes.text(len(numbers) - 1, 101, "linear", color=GREY, fontsize=8, ha="right", va="bottom")
    axes.set_xticks(range(len(numbers)), [str(number) for number in numbers])
    axes.margins(x=0.08)
    top = max(110.0, 1.1 * max(100 * each.efficiency for each in growths))
    axes.set_ylim(0, top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.set_xlabel("matches at once on each host" if axis == "matches" else axis)
    fewest = counted(numbers[0], axis)
    axes.set_title(f"efficiency against linear from {fewest}", fontsize=10, loc="left")
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
