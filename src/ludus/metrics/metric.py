"""The description of a metric: its name, kind, unit and meaning. metrics/names.py lists all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "mean", "rate", "share", "duration"]
"""counter: a total over the whole run, including resumes. gauge: the latest value. mean: mean since the last report.
rate: growth of a counter over the last ten reports, per training time. share: share of a process's time. duration:
duration of one pass of an activity. Shares and durations are exponential averages with a half-life of 15 s."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Description of one metric."""

    name: str
    kind: Kind
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics with a common prefix. Call it with an ending: `WIN_RATE("heuristic")` returns "win_rate/heuristic"."""

    prefix: str
    kind: Kind
    unit: str
    meaning: str
    example: str

    def __call__(self, end: str) -> str:
        return f"{self.prefix}/{end}"

    def end(self, name: str) -> str | None:
        """Return the ending of a name of this family, or None for any other name."""
        return name[len(self.prefix) + 1 :] if name.startswith(self.prefix + "/") else None
