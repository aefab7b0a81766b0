"""A scaling benchmark as people read it: tables for the console and the page, scaling.md, all from a study alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ludus.diagnostics import scaling, scaling_picture
from ludus.diagnostics.scaling import NEAR, ONE, Growth, Spread, Summary, Verdict
from ludus.diagnostics.study import CSV, JSON, Study
from ludus.metrics import bottleneck
from ludus.metrics.exporters.text import count, percent, span
from ludus.metrics.times import ACTOR, HOSTS, ActivityTime

ACTIVITY_COLUMNS = ("process", "activity", "share", "mean", "p50", "p95")
TIMES_NOTES = {
    HOSTS: "Of the wall-clock of all hosts together; wait: for actions. See docs/diagnostics.md.",
    ACTOR: "Of the wall-clock of the thread that answers them; wait hosts: for rows that must choose.",
}
REPORT, PICTURE = "scaling.md", "scaling.png"
NONE = "-"


@dataclass(frozen=True, slots=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str  # what the columns mean


def write(folder: Path, study: Study, command: str) -> Path:
    """Write the page and its picture; `command` is how to measure again."""
    drawn = scaling_picture.draw(study, folder / PICTURE)
    path = folder / REPORT
    path.write_text(markdown(study, command, picture=drawn), encoding="utf-8")
    return path


def tables(study: Study) -> list[TextTable]:
    summaries = scaling.summarise(study.plan, study.turns)
    if not summaries:
        return []
    axes = study.plan.axes
    found = [_speed(summaries, axes), _cost(summaries, axes, gpu=bool(study.machine.gpus))]
    rates = scaling.rates(summaries)
    grown = {axis: {each.cell: each for each in scaling.growth(rates, axis)} for axis in axes}
    if any(grown.values()):
        found.append(_growth(summaries, grown))
    return [*found, *_times(study, summaries)]


def verdict_lines(study: Study) -> list[str]:
    """The best cell and the smallest near it, what failed, and how much of the plan is there."""
    summaries = scaling.summarise(study.plan, study.turns)
    verdict = scaling.judge(summaries)
    lines = _verdict(verdict, scaling.rates(summaries))
    if verdict is not None:
        lines += [f"There: {told}" for told in (_bottleneck(study, verdict.best),) if told]
    if any(each.timed_out for each in summaries) and not any(each.sound for each in summaries):
        lines.append("In no cell did every turn complete: give more --budget, or ask for fewer matches.")
    lines += [f"{each.cell}: {each.failed} of {each.turns} failed: {each.failure}" for each in summaries if each.failed]
    if not study.complete:
        lines.append(f"Not complete: {len(study.turns)} of {len(study.plan.order)} turns have been played.")
    return lines


def markdown(study: Study, command: str, *, picture: bool) -> str:
    plan, machine = study.plan, study.machine
    parts = [
        f"# Scaling of {study.plan.title}",
        "\n".join(f"- {line}" for line in verdict_lines(study)),
        f"![Decisions per second and efficiency]({PICTURE})" if picture else "",
        *(f"## {table.title}\n{_markdown(table)}\n\n{table.note}" for table in tables(study)),
        "## How it was measured",
        f"`{command}`",
        f"- {machine.cpu}, {machine.cores} cores, {machine.system}, "
        f"{f'GPU: {machine.gpus}' if machine.gpus else 'no GPU (nvidia-smi finds none)'}; ludus {study.ludus}\n"
        f"- {plan.repeats} repeats, interleaved: all cells once, then all again. A turn is {plan.turn_s:.1f} s, of "
        f"which {plan.warm_s:.1f} s warm-up; the start of the hosts comes on top\n"
        f"- every turn is in [{CSV}]({CSV}), plan and summary are in [{JSON}]({JSON})",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def turn_line(turn: scaling.Trial) -> str:
    """One turn as one line."""
    if turn.failure:
        return f"{turn.cell}, repeat {turn.repeat + 1}: failed: {turn.failure}"
    return (
        f"{turn.cell}, repeat {turn.repeat + 1}: {count(turn.decisions_per_s)} decisions/s, "
        f"{count(turn.matches_per_hour)} matches/h, {turn.cpu_mean_cores:.2f} cores, {count(turn.ram_mib)} MiB"
        f"{'' if turn.state == 'completed' else f', timed out: {turn.done:,} of {turn.asked:,} matches'}"
    )


def _speed(summaries: Sequence[Summary], axes: Sequence[str]) -> TextTable:
    columns = (*axes, "decisions/s", "low to high", "matches/h", "done of asked", "ended")
    rows = [
        (
            *_names(each, axes),
            _median(each.decisions_per_s),
            _range(each.decisions_per_s),
            _median(each.matches_per_hour),
            f"{each.done:,} of {each.asked:,}",
            _ended(each),
        )
        for each in summaries
    ]
    note = (
        "Median over repeats, and the lowest and highest. Matches: at once on each host. Asked is the least that must "
        "end for the rates to mean something; a cell in which fewer did has timed out."
    )
    return TextTable("Speed", columns, rows, note)


def _cost(summaries: Sequence[Summary], axes: Sequence[str], *, gpu: bool) -> TextTable:
    served = "servers" in axes
    measured = ("CPU mean", "peak", "RAM MiB", "delta MiB")
    more = (*(("of servers: CPU", "RAM MiB") if served else ()), *(("GPU",) if gpu else ()))
    columns = (*axes, *measured, *more, "truncated", "voided", "refused")
    rows = [
        (
            *_names(each, axes),
            _decimal(each.cpu_mean_cores),
            _decimal(each.cpu_peak_cores),
            _median(each.ram_mib),
            _signed(each.memory_delta_mib),
            *((_decimal(each.servers_cpu_mean_cores), _median(each.servers_ram_mib)) if served else ()),
            *((_gpu(each),) if gpu else ()),
            *(
                (NONE,) * 3
                if each.state == "failed"
                else (f"{n:,}" for n in (each.truncated, each.voided, each.refused))
            ),
        )
        for each in summaries
    ]
    note = (
        "CPU in cores, RAM the most seen, delta what the cell added: this process and all below it, pages shared by "
        "several counted for each. Truncated and voided are matches, refused are choices the game asked for again."
        f"{' Servers: their own share of CPU, and all their memory.' if served else ''}"
    )
    return TextTable("Cost", columns, rows, note)


def _growth(summaries: Sequence[Summary], grown: Mapping[str, Mapping[scaling.FleetSize, Growth]]) -> TextTable:
    columns = (*grown, *(word for axis in grown for word in (f"by {axis}", f"gain per {ONE[axis]}")))
    rows = [
        (*_names(each, tuple(grown)), *(word for own in grown.values() for word in _grown(own.get(each.cell))))
        for each in summaries
    ]
    note = (
        "By hosts (matches, servers): decisions/s over what linear growth from the fewest would give, all else equal. "
        "Gain: decisions/s for each host, server, or match anywhere, more than in the next smaller cell."
    )
    return TextTable("Efficiency against linear growth, and marginal gain in decisions/s", columns, rows, note)


def _times(study: Study, summaries: Sequence[Summary]) -> list[TextTable]:
    """The share of every activity in every cell, and how long a pass takes in the best."""
    axes = study.plan.axes
    lines = {each.cell: scaling.times(study.turns, each.cell).lines() for each in summaries}
    found: list[TextTable] = []
    for process in (HOSTS, ACTOR):
        shares = {
            cell: {line.part: line.share for line in own if line.process == process} for cell, own in lines.items()
        }
        parts = list(dict.fromkeys(part for own in shares.values() for part in own))
        if not parts:
            continue
        rows = [
            (*_names(each, axes), *(percent(shares[each.cell].get(part, math.nan)) for part in parts))
            for each in summaries
        ]
        columns = (*axes, *(part.replace("_", " ") for part in parts))
        found.append(TextTable(f"Where the time of the {process} goes", columns, rows, TIMES_NOTES[process]))
    verdict = scaling.judge(summaries)
    if verdict is not None and lines[verdict.best]:
        rows = [
            (line.process, line.part.replace("_", " "), percent(line.share, 1), *map(span, _spans(line)))
            for line in lines[verdict.best]
        ]
        note = "Mean, p50 and p95 of one pass. The shares of each process sum to 100% of its wall-clock."
        found.append(TextTable(f"Activities with {verdict.best} matches", ACTIVITY_COLUMNS, rows, note))
    return found


def _spans(line: ActivityTime) -> tuple[float, float, float]:
    return line.mean_ms, line.p50_ms, line.p95_ms


def _bottleneck(study: Study, cell: scaling.FleetSize) -> str:
    spent = scaling.times(study.turns, cell)
    return bottleneck.of_times(spent, hosts=cell.hosts, cores=study.machine.cores)


def _verdict(verdict: Verdict | None, rates: dict[scaling.FleetSize, float]) -> list[str]:
    if verdict is None:
        return ["No cell has a rate."]
    best, small = verdict.best, verdict.smallest
    lines = [f"Best: {best} matches, {count(rates[best])} decisions/s."]
    if small != best:
        lines.append(
            f"Smallest within {percent(NEAR)}: {small} matches, {count(rates[small])} decisions/s with "
            f"{small.at_once:,} matches at once instead of {best.at_once:,}."
        )
    else:
        lines.append(f"No smaller cell comes within {percent(NEAR)} of it.")
    return lines


def _ended(summary: Summary) -> str:
    if summary.state == "failed":
        return "failed"
    parts = [
        f"{count} of {summary.turns} {words}"
        for count, words in ((summary.timed_out, "timed out"), (summary.failed, "failed"))
        if count
    ]
    return ", ".join(parts) or "completed"


def _grown(growth: Growth | None) -> tuple[str, str]:
    if growth is None:
        return NONE, NONE
    return percent(growth.efficiency), NONE if growth.gain is None else f"{growth.gain:+,.0f}"


def _names(summary: Summary, axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(getattr(summary.cell, axis)) for axis in axes)


def _median(spread: Spread | None) -> str:
    return NONE if spread is None else count(spread.median)


def _range(spread: Spread | None) -> str:
    return NONE if spread is None else f"{count(spread.low)} to {count(spread.high)}"


def _decimal(spread: Spread | None) -> str:
    return NONE if spread is None else f"{spread.median:.2f}"


def _signed(spread: Spread | None) -> str:
    return NONE if spread is None else f"{spread.median:+,.0f}"


def _gpu(summary: Summary) -> str:
    if summary.gpu_use_mean is None or summary.gpu_use_peak is None or summary.gpu_memory_mib is None:
        return NONE
    use, peak, memory = summary.gpu_use_mean.median, summary.gpu_use_peak.median, summary.gpu_memory_mib.median
    return f"{percent(use)}, peak {percent(peak)}, {count(memory)} MiB"


def _markdown(table: TextTable) -> str:
    lines = [table.columns, ("---:",) * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
