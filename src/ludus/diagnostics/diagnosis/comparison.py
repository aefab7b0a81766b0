"""Compares two diagnoses: is a number better, worse, or can nothing be said? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from ludus.diagnostics.diagnosis.record import MACHINE, Diagnosis, Measure

RESAMPLES = 2000
FEWEST = 3  # samples on each side: with fewer, the spread is unknown
SMALLEST = 0.02  # a smaller change counts as none
SHOWN = 12  # settings that differ
Answer = Literal["better", "worse", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """One measure of two diagnoses."""

    name: str
    unit: str
    before: float
    now: float
    ratio: Ratio  # now divided by before
    answer: Answer


def compare(before: Diagnosis, now: Diagnosis) -> list[MeasureChange]:
    """Compare every measure that both diagnoses have and that has a better direction.

    The machine's own speed, measured beside every stage, may differ between the two. Its ratio is a possible cause of
    every change, so the intervals are widened by it. If other programs used the machine during one of the two, their
    load may be the cause as well, so every answer is "cannot tell".
    """
    drift = machine_drift(before, now)
    is_shared = before.is_shared or now.is_shared
    return [
        _compared(name, before.measures[name], measure, drift, is_shared=is_shared)
        for name, measure in now.measures.items()
        if name in before.measures and name != MACHINE and measure.better != "neither"
    ]


def machine_drift(before: Diagnosis, now: Diagnosis) -> float:
    """Return how fast the machine is now, as a factor of its speed in `before`; 1 if unknown."""
    old, new = before.median(MACHINE), now.median(MACHINE)
    return new / old if old and new else 1.0


def ratio(before: Sequence[float], now: Sequence[float], seed: int = 1) -> Ratio:
    """Return the ratio of the medians with its bootstrap interval. Samples must be positive."""
    generator = np.random.default_rng(seed)
    old, new = np.asarray(before, np.float64), np.asarray(now, np.float64)
    value = float(np.median(new) / np.median(old))
    resampled = [
        np.median(each[generator.integers(0, len(each), (RESAMPLES, len(each)))], axis=1) for each in (old, new)
    ]
    low, high = np.quantile(resampled[1] / resampled[0], (0.025, 0.975))
    return Ratio(value, min(float(low), value), max(float(high), value))


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:  # Any: plain data
    """Return lines that name the settings that differ."""
    old, new = (dict(_flat(msgspec.json.decode(msgspec.json.encode(each)))) for each in (before, now))
    changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    lines = [f"{path}: {old.get(path, 'not set')} before, {new.get(path, 'not set')} now" for path in sorted(changed)]
    return lines[:SHOWN] + ([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])


def _compared(name: str, before: Measure, now: Measure, drift: float, *, is_shared: bool) -> MeasureChange:
    usable = all(len(each.samples) >= FEWEST and each.low > 0 for each in (before, now))
    if not usable:
        value = now.median / before.median if before.median > 0 else 1.0
        return MeasureChange(name, now.unit, before.median, now.median, Ratio(value, 0.0, float("inf")), "cannot tell")
    measured = ratio(before.samples, now.samples)
    is_time = now.better == "lower"
    shift = drift if is_time else 1 / drift  # what the ratio would be at equal speed of the machine
    widened = Ratio(measured.value, measured.low * min(1, shift), measured.high * max(1, shift))
    answer: Answer = "cannot tell" if is_shared else _answer(widened, is_time=is_time)
    return MeasureChange(name, now.unit, before.median, now.median, widened, answer)


def _answer(ratio: Ratio, *, is_time: bool) -> Answer:
    if ratio.low > 1 and ratio.value >= 1 + SMALLEST:
        return "worse" if is_time else "better"
    if ratio.high < 1 and ratio.value <= 1 - SMALLEST:
        return "better" if is_time else "worse"
    return "cannot tell"


def _flat(data: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
