"""The results of `ludus bench serve`: JSON for programs, a page in Markdown, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ludus import files
from ludus.diagnostics.serving_trials import LOCAL, ONE_BY_ONE, SERVER, ServingPlan, ServingTrial
from ludus.evaluation.curve import COLOURS

JSON, PAGE, PICTURE = "result.json", "report.md", "speed.png"
COLUMNS = (
    "way to play",
    "battles/hour",
    "decisions/s",
    "win rate",
    "95% interval",
    "invalid",
    "call p50 / p95",
    "server p50 / p95 / p99",
    "rows a pass",
    "GPU",
)


def cells(trial: ServingTrial) -> tuple[str, ...]:
    """Return the texts of one line of the table, in the order of COLUMNS."""
    low, high = trial.interval
    report = trial.report
    server = "-"
    if report is not None:
        server = " / ".join(
            f"{each:.1f}" for each in (report.latency.p50_ms, report.latency.p95_ms, report.latency.p99_ms)
        )
        server += " ms"
    return (
        trial.name,
        f"{trial.battles_per_hour:,.0f}",
        f"{trial.decisions_per_s:,.0f}",
        f"{trial.win_rate:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{trial.invalid:,}",
        f"{trial.policy_p50_ms:.1f} / {trial.policy_p95_ms:.1f} ms",
        server,
        f"{trial.batch_mean:.1f}" if report is not None else "-",
        "-" if trial.gpu is None else f"{trial.gpu.use_mean:.0%}",
    )


def ratios(trials: Sequence[ServingTrial]) -> dict[str, float]:
    """Return the speed of the server compared with the other ways, in battles per hour."""
    rates = {trial.name: trial.battles_per_hour for trial in trials}
    pairs = {"server_vs_one_process": LOCAL, "server_vs_row_by_row": ONE_BY_ONE}
    return {name: rates[SERVER] / rates[other] for name, other in pairs.items() if SERVER in rates and other in rates}


def sentences(trials: Sequence[ServingTrial]) -> list[str]:
    """Return what the results mean, in a few sentences."""
    lines = [f"{name.replace('_', ' ')}: {value:.2f} in battles per hour." for name, value in ratios(trials).items()]
    low = max(trial.interval[0] for trial in trials)
    high = min(trial.interval[1] for trial in trials)
    verdict = "overlap: the ways play alike" if low <= high else "do not overlap: the ways do not play alike"
    lines.append(f"The 95% intervals of the win rates {verdict}.")
    invalid = sum(trial.invalid for trial in trials)
    lines.append("No action was invalid." if not invalid else f"{invalid:,} actions were invalid.")
    voided = sum(trial.voided for trial in trials)
    if voided:
        lines.append(f"{voided:,} matches were lost with their host and played again.")
    return lines


def write(folder: Path, plan: ServingPlan, trials: Sequence[ServingTrial], checks: Mapping[str, str]) -> Path:
    """Write all three files and return the path of the page. Raises OSError."""
    page = {
        "plan": plan,
        "checks": dict(checks),
        "trials": [
            {
                **msgspec.to_builtins(trial),
                "battles_per_hour": trial.battles_per_hour,
                "decisions_per_s": trial.decisions_per_s,
                "win_rate": trial.win_rate,
                "interval": trial.interval,
                "batch_mean": trial.batch_mean,
            }
            for trial in trials
        ],
        "ratios": ratios(trials),
    }
    files.write(folder / JSON, msgspec.json.format(msgspec.json.encode(page)))
    draw(trials, folder / PICTURE)
    files.write(folder / PAGE, _page(plan, trials, checks).encode())
    return folder / PAGE


def _page(plan: ServingPlan, trials: Sequence[ServingTrial], checks: Mapping[str, str]) -> str:
    head = f"{plan.matches:,} battles each, {plan.workers} workers with {plan.concurrency} battles at a time"
    lines = [
        f"# Battles through a policy server: {Path(plan.policy).name} against {plan.opponent}",
        "",
        f"{head}. Server: latency from the last byte of a request to its answer, over the last ten seconds. Call: what "
        "a worker waits for one batch of its rows.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "| " + " | ".join("---" for _ in COLUMNS) + " |",
        *("| " + " | ".join(cells(trial)) + " |" for trial in trials),
        "",
        *sentences(trials),
        "",
        f"![Battles per hour and latency]({PICTURE})",
        "",
        "Before the trials:",
        "",
        *(f"- {what}: {detail}" for what, detail in checks.items()),
        "",
    ]
    return "\n".join(lines)


def draw(trials: Sequence[ServingTrial], path: Path) -> None:
    """Write the picture: battles per hour, what a worker waits, and win rates with their intervals."""
    # Imported here because it takes a second; without pyplot, which needs a window system and has global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(11, 3.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    speed, waits, wins = figure.subplots(1, 3)
    names = [trial.name.replace(", ", ",\n") for trial in trials]
    colours = COLOURS[: len(trials)]
    bars = speed.bar(names, [trial.battles_per_hour for trial in trials], color=colours)
    speed.bar_label(bars, [f"{trial.battles_per_hour:,.0f}" for trial in trials])
    speed.set_title("battles per hour", fontsize=10)
    speed.margins(y=0.12)
    speed.yaxis.set_major_formatter("{x:,.0f}")
    places = range(len(trials))
    waits.bar([at - 0.2 for at in places], [trial.policy_p50_ms for trial in trials], 0.4, color=colours)
    waits.bar([at + 0.2 for at in places], [trial.policy_p95_ms for trial in trials], 0.4, color=colours, alpha=0.5)
    waits.set_xticks(list(places), names)
    waits.set_title("a worker waits for the policy: p50, p95 (light), ms", fontsize=10)
    rates = [trial.win_rate for trial in trials]
    errors = [
        [max(rate - trial.interval[0], 0.0) for rate, trial in zip(rates, trials, strict=True)],
        [max(trial.interval[1] - rate, 0.0) for rate, trial in zip(rates, trials, strict=True)],
    ]
    for at in places:
        wins.errorbar([at], [rates[at]], [[errors[0][at]], [errors[1][at]]], fmt="o", color=colours[at], capsize=5)
    wins.set_xticks(list(places), names)
    wins.margins(x=0.3)
    wins.yaxis.set_major_formatter(PercentFormatter(1.0))
    wins.set_title("win rate of the agent, 95% interval", fontsize=10)
    for axes in (speed, waits, wins):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    figure.savefig(path)
