"""The report of a scaling benchmark: tables for the console and the page scaling.md."""

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
    HOSTS: "Shares of the wall-clock time of all hosts. `wait` is waiting for actions. See docs/diagnostics.md.",
    ACTOR: "Shares of the time of the thread that chooses actions. `wait hosts` is waiting for observations.",
}
REPORT, PICTURE = "scaling.md", "scaling.png"
NONE = "-"


@dataclass(frozen=True, slots=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str  # explains the columns


def write(folder: Path, study: Study, command: str) -> Path:
    """Write the page and its picture, and return the path of the page. `command` repeats the benchmark."""
    has_picture = scaling_picture.draw(study, folder / PICTURE)
    path = folder / REPORT
    path.write_text(markdown(study, command, picture=has_picture), encoding="utf-8")
    return path


def tables(study: Study) -> list[TextTable]:
    summaries = scaling.summarise(study.plan, study.trials)
    if not summaries:
        return []
    axes = study.plan.axes
    text_tables = [_speed(summaries, axes), _cost(summaries, axes, gpu=bool(study.machine.gpus))]
    rates = scaling.rates(summaries)
    growth_by_axis = {axis: {each.size: each for each in scaling.growth(rates, axis)} for axis in axes}
    if any(growth_by_axis.values()):
        text_tables.append(_growth(summaries, growth_by_axis))
    return [*text_tables, *_times(study, summaries)]


def verdict_lines(study: Study) -> list[str]:
    """Return the best fleet size, the smallest one close to it, the failures, and how many trials are missing."""
    summaries = scaling.summarise(study.plan, study.trials)
    verdict = scaling.judge(summaries)
    lines = _verdict(verdict, scaling.rates(summaries))
    if verdict is not None:
        lines += [f"There: {sentence}" for sentence in (_bottleneck(study, verdict.best),) if sentence]
    if any(each.timed_out for each in summaries) and not any(each.sound for each in summaries):
        lines.append("At every fleet size, some trials did not complete: raise --budget or lower --min-matches.")
    lines += [
        f"{each.size}: {each.failed} of {each.trials} failed: {each.failure}" for each in summaries if each.failed
    ]
    if not study.complete:
        lines.append(f"Incomplete: {len(study.trials)} of {len(study.plan.order)} trials have run.")
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
        f"- {plan.repeats} repeats, interleaved: all fleet sizes once, then all again. A trial takes "
        f"{plan.trial_s:.1f} s, of "
        f"which {plan.warm_s:.1f} s are warm-up; starting the hosts is not included\n"
        f"- every trial is in [{CSV}]({CSV}), plan and summary are in [{JSON}]({JSON})",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def trial_line(trial: scaling.Trial) -> str:
    """Describe one trial in one line."""
    if trial.failure:
        return f"{trial.size}, repeat {trial.repeat + 1}: failed: {trial.failure}"
    return (
        f"{trial.size}, repeat {trial.repeat + 1}: {count(trial.decisions_per_s)} decisions/s, "
        f"{count(trial.matches_per_hour)} matches/h, {trial.cpu_mean_cores:.2f} cores, {count(trial.ram_mib)} MiB"
        f"{'' if trial.state == 'completed' else f', timed out: {trial.done:,} of {trial.min_matches:,} matches'}"
    )


def _speed(summaries: Sequence[Summary], axes: Sequence[str]) -> TextTable:
    columns = (*axes, "decisions/s", "low to high", "matches/h", "done of minimum", "ended")
    rows = [
        (
            *_names(each, axes),
            _median(each.decisions_per_s),
            _range(each.decisions_per_s),
            _median(each.matches_per_hour),
            f"{each.done:,} of {each.min_matches:,}",
            _ended(each),
        )
        for each in summaries
    ]
    note = (
        "Median, lowest and highest over the repeats. `matches` are concurrent matches per host. The minimum is the "
        "number "
        "of matches that must finish for the rates to be meaningful; a trial that finishes fewer has timed out."
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
        "CPU in cores, peak RAM, and the growth of RAM since before the start, of this process and its child "
        "processes; "
        "pages shared by several processes count for each. Truncated and voided are matches, refused are actions "
        "that the "
        "game rejected."
        f"{' Of servers: their part of the CPU, and their peak memory.' if served else ''}"
    )
    return TextTable("Cost", columns, rows, note)


def _growth(
    summaries: Sequence[Summary], growth_by_axis: Mapping[str, Mapping[scaling.FleetSize, Growth]]
) -> TextTable:
    columns = (*growth_by_axis, *(word for axis in growth_by_axis for word in (f"by {axis}", f"gain per {ONE[axis]}")))
    rows = [
        (
            *_names(each, tuple(growth_by_axis)),
            *(word for own in growth_by_axis.values() for word in _growth_words(own.get(each.size))),
        )
        for each in summaries
    ]
    note = (
        "By hosts (matches, servers): decisions/s divided by linear growth from the smallest number, all else equal. "
        "Gain: additional decisions/s per additional host, server or concurrent match, compared with the next "
        "smaller size."
    )
    return TextTable("Efficiency against linear growth, and marginal gain in decisions/s", columns, rows, note)


def _times(study: Study, summaries: Sequence[Summary]) -> list[TextTable]:
    """Return the share of every activity at every fleet size, and the durations of passes at the best size."""
    axes = study.plan.axes
    lines = {each.size: scaling.times(study.trials, each.size).lines() for each in summaries}
    text_tables: list[TextTable] = []
    for process in (HOSTS, ACTOR):
        shares = {
            size: {line.part: line.share for line in own if line.process == process} for size, own in lines.items()
        }
        parts = list(dict.fromkeys(part for own in shares.values() for part in own))
        if not parts:
            continue
        rows = [
            (*_names(each, axes), *(percent(shares[each.size].get(part, math.nan)) for part in parts))
            for each in summaries
        ]
        columns = (*axes, *(part.replace("_", " ") for part in parts))
        text_tables.append(TextTable(f"Where the time of the {process} goes", columns, rows, TIMES_NOTES[process]))
    verdict = scaling.judge(summaries)
    if verdict is not None and lines[verdict.best]:
        rows = [
            (line.process, line.part.replace("_", " "), percent(line.share, 1), *map(span, _spans(line)))
            for line in lines[verdict.best]
        ]
        note = "Mean, p50 and p95 of one pass. The shares of each process sum to 100% of its wall-clock time."
        text_tables.append(TextTable(f"Activities with {verdict.best} matches", ACTIVITY_COLUMNS, rows, note))
    return text_tables


def _spans(line: ActivityTime) -> tuple[float, float, float]:
    return line.mean_ms, line.p50_ms, line.p95_ms


def _bottleneck(study: Study, size: scaling.FleetSize) -> str:
    spent = scaling.times(study.trials, size)
    return bottleneck.of_times(spent, hosts=size.hosts, cores=study.machine.cores)


def _verdict(verdict: Verdict | None, rates: dict[scaling.FleetSize, float]) -> list[str]:
    if verdict is None:
        return ["No trial succeeded."]
    best, small = verdict.best, verdict.smallest
    lines = [f"Best: {best} matches, {count(rates[best])} decisions/s."]
    if small != best:
        lines.append(
            f"Smallest within {percent(NEAR)}: {small} matches, {count(rates[small])} decisions/s with "
            f"{small.at_once:,} matches at once instead of {best.at_once:,}."
        )
    else:
        lines.append(f"No smaller fleet size is within {percent(NEAR)} of it.")
    return lines


def _ended(summary: Summary) -> str:
    if summary.state == "failed":
        return "failed"
    parts = [
        f"{count} of {summary.trials} {words}"
        for count, words in ((summary.timed_out, "timed out"), (summary.failed, "failed"))
        if count
    ]
    return ", ".join(parts) or "completed"


def _growth_words(growth: Growth | None) -> tuple[str, str]:
    if growth is None:
        return NONE, NONE
    return percent(growth.efficiency), NONE if growth.gain is None else f"{growth.gain:+,.0f}"


def _names(summary: Summary, axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(getattr(summary.size, axis)) for axis in axes)


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
