"""The named terms of a game's reward, and its other facts, as curves of a run. Pure.

A host reports what a seat earned by a term in a match as the fact `reward_TERM@SEAT`. It becomes the metric
`fact/reward_TERM`, the mean over learning seats and matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ludus.metrics import names
from ludus.wire.terms import FACT_PREFIX

__all__ = ["FACT_PREFIX", "Curve", "facts", "term_of", "terms"]

_FACTS = names.FACT("")
_TERMS = names.FACT(FACT_PREFIX)
ENDS = 10  # a tenth of a run is its begin, and a tenth its end


@dataclass(frozen=True, slots=True)
class Curve:
    """The values of one fact over training. `minutes` and `values` have the same length; all are finite."""

    name: str
    minutes: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def begin(self) -> float:
        return _mean(self.values[: self._tenth])

    @property
    def end(self) -> float:
        return _mean(self.values[-self._tenth :])

    @property
    def _tenth(self) -> int:
        return max(1, len(self.values) // ENDS)


def term_of(metric: str) -> str | None:
    """Return the term of a metric: `goal` for `fact/reward_goal`, None for other metrics."""
    return metric.removeprefix(_TERMS) if metric.startswith(_TERMS) and metric != _TERMS else None


def terms(rows: Sequence[Mapping[str, str]]) -> list[Curve]:
    """Return a curve for each reward term, from the rows of a progress.csv."""
    return _curves(rows, ((name, term) for name in _columns(rows) if (term := term_of(name)) is not None))


def facts(rows: Sequence[Mapping[str, str]]) -> list[Curve]:
    """Return a curve for each other fact, such as `touches`, from the rows of a progress.csv."""
    facts = (name for name in _columns(rows) if name.startswith(_FACTS) and term_of(name) is None)
    return _curves(rows, ((name, name.removeprefix(_FACTS)) for name in facts))


def _columns(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row if name))


def _curves(rows: Sequence[Mapping[str, str]], columns: Iterable[tuple[str, str]]) -> list[Curve]:
    curves = []
    for column, name in columns:
        points = [(_float(row.get(names.TRAINING_S)) / 60, _float(row.get(column))) for row in rows]
        points = [point for point in points if all(map(math.isfinite, point))]
        if points:
            minutes, values = zip(*points, strict=True)
            curves.append(Curve(name, minutes, values))
    return curves


def _float(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
