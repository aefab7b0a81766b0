"""Shows a diagnosis: tables for the console, and the page diagnosis.md with its picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ludus.diagnostics.diagnosis import comparison, picture, record
from ludus.diagnostics.diagnosis.comparison import MeasureChange
from ludus.diagnostics.diagnosis.record import Diagnosis, Measure, Suggestion
from ludus.diagnostics.scaling_report import TextTable
from ludus.diagnostics.study import describe
from ludus.metrics.exporters import text

PAGE, PICTURE = "diagnosis.md", "diagnosis.png"
TITLES = {
    "env": "hosts without a policy",
    "playing": "hosts and policy",
    "inference": "policy alone",
    "learner": "learner alone",
    "transport": "copies",
    "whole": "the whole run",
    "gpu": "GPU",
    "machine": "machine",
}
WORDS = {
    "decisions_per_s": "speed",
    "loops_per_s": "speed",
    "cpu_us_per_decision": "CPU time per decision",
    "actor_cpu_us_per_decision": "CPU time of the actor",
    "hosts_cpu_us_per_decision": "CPU time of the hosts",
    "learned_share": "learned from",
    "ms": "a batch, mean",
    "ms_p95": "a batch, p95",
    "ms_p99": "a batch, p99",
    "ms_per_update": "an update",
    "rows": "rows per batch",
}
HELPS = 1.02  # measured factor from which on a checked suggestion helps


def write(folder: Path, diagnosis: Diagnosis, command: str, before: Diagnosis | None = None) -> Path:
    """Write diagnosis.md and, if there is something to draw, diagnosis.png. Returns the path of the page."""
    has_picture = picture.draw(diagnosis, folder / PICTURE)
    path = folder / PAGE
    path.write_text(markdown(diagnosis, command, before, picture=has_picture), encoding="utf-8")
    return path


def tables(diagnosis: Diagnosis, before: Diagnosis | None = None) -> list[TextTable]:
    """Return the tables: what was measured, the ceilings, the suggestions, and the comparison with `before`."""
    text_tables = [_measured(diagnosis)]
    if diagnosis.ceilings:
        text_tables.append(_ceilings(diagnosis))
    if diagnosis.suggestions:
        text_tables.append(_suggestions(diagnosis.suggestions))
    if before is not None:
        text_tables.append(_compared(comparison.compare(before, diagnosis)))
    return text_tables


def lines(diagnosis: Diagnosis, before: Diagnosis | None = None) -> list[str]:
    """Return the verdict, what failed, and what makes a comparison doubtful."""
    failed = [f"{TITLES.get(stage, stage)}: failed: {why}" for stage, why in diagnosis.failures.items()]
    words = [*diagnosis.verdict, *failed, *diagnosis.notes, *_others(diagnosis)]
    if before is None:
        return words
    words.append(summary(comparison.compare(before, diagnosis)))
    drift = comparison.machine_drift(before, diagnosis)
    words.append(f"The machine itself ran at {drift:.2f} times its speed of then; the intervals allow for that.")
    if before.is_shared or diagnosis.is_shared:
        words.append("Other programs used the machine during one of the two, so no number is called better or worse.")
    if before.machine != diagnosis.machine:
        words.append(f"The other diagnosis is of another machine: {describe(before.machine)}.")
    if before.ludus != diagnosis.ludus:
        words.append(f"The other diagnosis was made by ludus {before.ludus}.")
    changed = comparison.changed_settings(before.settings, diagnosis.settings)
    return words + [f"Settings differ: {line}" for line in changed]


def _others(diagnosis: Diagnosis) -> list[str]:
    """Return a warning if other programs used the machine meanwhile."""
    if not diagnosis.is_shared:
        return []
    cores = diagnosis.median(record.OTHER_CORES)
    return [
        f"Other programs used {cores:.1f} cores meanwhile: conclusions are drawn from CPU times, and speeds are too "
        "low. Repeat the diagnosis on an idle machine."
    ]


def summary(comparisons: Sequence[MeasureChange]) -> str:
    """Say in one sentence whether things became better or worse."""
    by_answer = {answer: [each for each in comparisons if each.answer == answer] for answer in ("better", "worse")}
    whole = next((each for each in comparisons if each.name == record.WHOLE_RATE), None)
    words = [
        f"{answer}: {', '.join(f'{each.name} ({each.ratio.value:.2f})' for each in entries)}"
        for answer, entries in by_answer.items()
        if entries
    ]
    rest = len(comparisons) - sum(map(len, by_answer.values()))
    first = "" if whole is None else f"The whole run is {_as_words(whole)}. "
    return f"{first}Compared with the other diagnosis: {'; '.join([*words, f'cannot tell: {rest} numbers'])}."


def markdown(diagnosis: Diagnosis, command: str, before: Diagnosis | None, *, picture: bool) -> str:
    parts = [
        f"# Diagnosis of {escape(diagnosis.title)}",
        "\n".join(f"- {escape(line)}" for line in lines(diagnosis, before)),
        f"![Speed of the stages and ceilings]({PICTURE})" if picture else "",
        *(f"## {table.title}\n{_table(table)}\n\n{table.note}" for table in tables(diagnosis, before)),
        f"## How it was measured\n`{command}`",
        f"- {describe(diagnosis.machine)}, {diagnosis.machine.system}; ludus {diagnosis.ludus}\n"
        f"- {diagnosis.hosts} hosts, {diagnosis.actors} actors; every sample is in [{record.JSON}]({record.JSON})",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(words: str) -> str:
    """Return text that Markdown shows as it is: parts of it may come from a file or a host."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")


def _measured(diagnosis: Diagnosis) -> TextTable:
    rows, stage = [], ""
    order = {prefix: at for at, prefix in enumerate(TITLES)}
    by_stage = sorted(diagnosis.measures.items(), key=lambda item: order.get(item[0].partition("/")[0], len(order)))
    for name, measure in by_stage:
        prefix = name.partition("/")[0]
        title = "" if prefix == stage else TITLES.get(prefix, prefix)
        unit = "" if measure.unit in ("share", "ms", "us") else measure.unit
        rows.append((title, words_of(name), _value(measure.median, measure.unit), _spread(measure), unit))
        stage = prefix
    curve = ", ".join(f"{size} rows {us:.1f}" for size, us in diagnosis.curve.items())
    note = "Median, lowest and highest of the samples."
    return TextTable(
        "Stages",
        ("stage", "number", "median", "low to high", "unit"),
        rows,
        f"{note} Microseconds of inference per row by rows per batch: {curve}." if curve else note,
    )


def words_of(name: str) -> str:
    """Return the name of a measure in words, without its stage and unit."""
    words = name.partition("/")[2]
    return WORDS.get(words, words.removesuffix("_mib").removesuffix("_ms").removesuffix("_cores").replace("_", " "))


def _value(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "-"
    if unit == "share":
        return text.percent(value)
    if unit in ("ms", "us"):
        return text.span(value if unit == "ms" else value / 1e3)
    return text.count(value) if value >= 100 else text.decimal(value)


def _spread(measure: Measure) -> str:
    if len(measure.samples) < 2 or measure.low == measure.high:
        return "-"
    return f"{_value(measure.low, measure.unit)} to {_value(measure.high, measure.unit)}"


def _ceilings(diagnosis: Diagnosis) -> TextTable:
    whole = diagnosis.median(record.WHOLE_RATE)
    rows = [
        (each.part, f"{each.factor:.2f}", "-" if whole is None else f"{whole * each.factor:,.0f}")
        for each in diagnosis.ceilings
    ]
    note = (
        "The speed-up of training if this part cost nothing (Amdahl's law with the measured costs). Recording is "
        "everything that the actor does besides inference."
    )
    return TextTable("Ceilings", ("part", "at most", "decisions/s"), rows, note)


def _suggestions(suggestions: Sequence[Suggestion]) -> TextTable:
    rows = [(each.words, f"{each.gain:.2f}", _checked(each), each.why, each.caveat or "-") for each in suggestions]
    note = "Predicted factors follow from the measured costs; `--apply-and-measure` trains with and without the change."
    return TextTable("Suggestions", ("setting", "predicted", "measured", "why", "note"), rows, note)


def _checked(suggestion: Suggestion) -> str:
    gain = suggestion.checked
    if gain is None:
        return "-"
    if gain.failure:
        return f"failed: {gain.failure}"
    if gain.low > 1 and gain.ratio >= HELPS:
        words = "helps"
    elif gain.high < 1:
        words = "harms"
    else:
        words = "cannot tell"
    return f"{gain.ratio:.2f} ({gain.low:.2f} to {gain.high:.2f}): {words}"


def _compared(comparisons: Sequence[MeasureChange]) -> TextTable:
    rows = [
        (
            each.name,
            _value(each.before, each.unit),
            _value(each.now, each.unit),
            f"{each.ratio.value:.2f}",
            f"{each.ratio.low:.2f} to {each.ratio.high:.2f}" if math.isfinite(each.ratio.high) else "-",
            each.answer,
        )
        for each in comparisons
    ]
    note = "Now divided by before, with a 95% interval that allows for the machine's own speed."
    return TextTable("Compared", ("number", "before", "now", "ratio", "interval", "answer"), rows, note)


def _as_words(whole: MeasureChange) -> str:
    factor = f"{whole.ratio.value:.2f} times as fast"
    return {"better": f"better ({factor})", "worse": f"worse ({factor})"}.get(
        whole.answer, f"neither surely better nor worse ({factor})"
    )


def _table(table: TextTable) -> str:
    heads = ["| " + " | ".join(table.columns) + " |", "|" + " --- |" * len(table.columns)]
    return "\n".join([*heads, *("| " + " | ".join(map(escape, row)) + " |" for row in table.rows)])
