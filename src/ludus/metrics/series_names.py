"""Names of the metrics in Prometheus: base units, `_total` for counters, labels for families. Pure.

`progress/decisions` is ludus_progress_decisions_total, and `win_rate/heuristic` is
ludus_win_rate_ratio{opponent="heuristic"}. docs/metrics.md lists all of them, and monitoring/ is generated from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ludus.metrics import names
from ludus.metrics.metric import Family, Kind, Metric
from ludus.metrics.observer import Numbers
from ludus.metrics.times import MATCH_TIME, Times

Type = Literal["counter", "gauge", "histogram"]

PREFIX = "ludus_"
MOST_VALUES = 64  # of the labels of one metric; further ones are left out and counted
LONGEST_LABEL = 100  # characters
OMITTED = f"{PREFIX}telemetry_series_omitted"
# unit -> ending of the name, and the factor from ludus's unit to the base unit
UNITS = {
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "MiB": ("bytes", 2.0**20),
    "share": ("ratio", 1.0),
}
ENDINGS = {"s": "_s", "MiB": "_mib"}  # of ludus's names, which the unit replaces
LABELS: dict[Family, tuple[str, ...]] = {
    names.WIN_RATE: ("opponent",),
    names.RETURN: ("opponent",),
    names.TRAIN_WIN_RATE: ("opponent",),
    names.OPPONENT_SHARE: ("opponent",),
    names.VOIDED_BY: ("reason",),
    names.ACTOR_BUSY: ("actor",),
    names.NODE_DECISIONS: ("node",),
    names.NODE_HOST_RESTARTS: ("node",),
    names.NODE_ACTOR_RESTARTS: ("node",),
    names.HOST_BUSY: ("host",),
    names.MEMORY: ("process",),
    names.FACT: ("fact",),
    names.SHARE: ("process", "activity"),
}
# upper bounds of histograms: every second power of two nanoseconds, 1 us to 18 min; they are bounds of Durations, too
BOUND_BITS = range(10, 42, 2)


@dataclass(frozen=True, slots=True)
class Published:
    """A metric as Prometheus sees it."""

    name: str  # of the samples; with _total for a counter
    type: Type
    help: str
    labels: tuple[str, ...] = ()
    factor: float = 1.0  # multiplies ludus's value
    source: str = ""  # ludus's name, or the prefix of the family


@dataclass(frozen=True, slots=True)
class Sample:
    published: Published
    values: tuple[str, ...]  # of the labels
    value: float


@dataclass(frozen=True, slots=True)
class DurationHistogram:
    """A histogram: the number of passes up to each bound in seconds, the last one infinite, and their total time."""

    published: Published
    values: tuple[str, ...]
    counts: tuple[tuple[float, float], ...]
    total_s: float


def published(metric: Metric) -> Published:
    """Return a metric's name in Prometheus. A text becomes the label of a metric whose value is 1."""
    if metric.unit == "text":
        label = metric.name.rpartition("/")[2]
        return Published(f"{_base(metric.name)}_info", "gauge", metric.meaning, (label,), source=metric.name)
    name, factor = _with_unit(metric.name, metric.unit)
    return _described(name, metric.kind, metric.unit, metric.meaning, (), factor, metric.name)


def of_family(family: Family) -> Published:
    """Return the name of a family with labels."""
    name, factor = _with_unit(family.prefix, family.unit)
    return _described(name, family.kind, family.unit, family.meaning, LABELS[family], factor, family.prefix)


ACTIVITY_SECONDS = Published(
    f"{PREFIX}activity_seconds",
    "histogram",
    "duration of one pass of an activity, over the whole run [seconds]",
    ("process", "activity"),
    1e-9,
    "mean_ms",
)
MATCH_SECONDS = Published(
    f"{PREFIX}match_seconds",
    "histogram",
    "time from the first decision of a match to its end, over the whole run [seconds]",
    (),
    1e-9,
    MATCH_TIME,
)
UP_TO_DATE = Published(
    f"{PREFIX}report_timestamp_seconds", "gauge", "time of the latest report, in seconds since 1970 [seconds]"
)
LEFT_OUT = Published(OMITTED, "gauge", f"series left out, because a metric has at most {MOST_VALUES} [series]")
FREE = Published(f"{PREFIX}disk_free_bytes", "gauge", "free space on the disk of the run's folder [bytes]")


def samples(numbers: Numbers) -> tuple[list[Sample], int]:
    """Return the samples of a report, and the number of those left out because a metric has too many.

    A counter that the report does not have is 0, so that its first increase is seen.
    """
    counters = (each for name, each in METRICS.items() if each.type == "counter" and name not in numbers)
    samples_of_report = [Sample(each, (), 0.0) for each in counters]
    counts: dict[str, int] = {}
    omitted = 0
    for name, value in numbers.items():
        sample = _sample(name, value)
        if sample is None:
            continue
        count = counts[sample.published.name] = counts.get(sample.published.name, 0) + 1
        if count > MOST_VALUES:
            omitted += 1
        else:
            samples_of_report.append(sample)
    return samples_of_report, omitted


def histograms_of(times: Times) -> list[DurationHistogram]:
    """Return the histograms of all activities and of the matches."""
    histograms = []
    for name, durations in list(times.activities.items())[:MOST_VALUES]:
        process, _, part = name.partition("/")
        is_match = name == MATCH_TIME
        what, values = (MATCH_SECONDS, ()) if is_match else (ACTIVITY_SECONDS, (process, part))
        histograms.append(DurationHistogram(what, values, tuple(_counts(durations.buckets)), durations.total_ns / 1e9))
    return histograms


def _counts(buckets: Mapping[int, float]) -> Iterator[tuple[float, float]]:
    for bits in BOUND_BITS:
        # the buckets below 4 * (bits - 1) end at or before 2**bits ns (wire/durations.py)
        yield 2.0**bits / 1e9, sum(count for bucket, count in buckets.items() if bucket < 4 * (bits - 1))
    yield math.inf, sum(buckets.values())


def _sample(name: str, value: float | str) -> Sample | None:
    series = METRICS.get(name)
    if series is not None and isinstance(value, str):
        return Sample(series, (value[:LONGEST_LABEL],), 1.0)
    if isinstance(value, str):
        return None
    if series is not None:
        return Sample(series, (), value * series.factor)
    for family, series in FAMILIES.items():
        if (end := family.end(name)) is not None:
            values = end.partition("/")[::2] if len(series.labels) == 2 else (end,)
            return Sample(series, tuple(each[:LONGEST_LABEL] for each in values), value * series.factor)
    return None  # mean_ms and its like: the histograms have them


def _described(
    name: str, kind: Kind, unit: str, meaning: str, labels: Sequence[str], factor: float, source: str
) -> Published:
    type_of: Type = "counter" if kind == "counter" else "gauge"
    end = "_total" if type_of == "counter" else ""
    words = f"{meaning} [{UNITS[unit][0] if unit in UNITS else unit}]" if unit else meaning
    if type_of == "gauge" and name.endswith("_total"):  # an ending that Prometheus reserves for counters
        name = name.removesuffix("_total") + "_all"
    return Published(name + end, type_of, words, tuple(labels), factor, source)


def _with_unit(name: str, unit: str) -> tuple[str, float]:
    base = _base(name)
    if unit not in UNITS:
        return base, 1.0
    ending, factor = UNITS[unit]
    return f"{base.removesuffix(ENDINGS.get(unit, ''))}_{ending}", factor


def _base(name: str) -> str:
    return PREFIX + name.replace("/", "_")


METRICS = {metric.name: published(metric) for metric in names.METRICS}
FAMILIES = {family: of_family(family) for family in LABELS}
ALL: tuple[Published, ...] = (
    *METRICS.values(),
    *FAMILIES.values(),
    ACTIVITY_SECONDS,
    MATCH_SECONDS,
    UP_TO_DATE,
    LEFT_OUT,
    FREE,
)
