"""Accounting of training matches: begun = ended + voided + unfinished + under way.

The actor counts the first four and reports all numbers together, so the equation holds in every report. Matches under
way can be lost without the actor noticing: when the actor dies, or when the checkpoint that contains them is damaged.
The code that detects such a loss calls `void_under_way`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ludus.metrics import names
from ludus.metrics.core import Metrics

ACTOR = "actor_died"  # reason of matches lost with their actor
ANEW = "anew"  # reason of matches in a checkpoint that could not be resumed


def under_way(counters: Mapping[str, float]) -> int:
    """Return the matches that have begun and not ended, from the counters. 0 if `match/begun` is missing."""
    over = (names.MATCHES, names.VOIDED, names.UNFINISHED)
    return max(0, int(counters.get(names.BEGUN, 0) - sum(counters.get(name, 0) for name in over)))


def void_under_way(metrics: Metrics, reason: str) -> int:
    """Count all matches under way as voided for this reason. Returns their number."""
    numbers, matches = metrics.snapshot(), under_way(metrics.counters())
    decisions = numbers.get(names.UNDER_WAY_DECISIONS, 0)
    if matches:
        metrics.add(names.VOIDED, matches)
        metrics.add(names.VOIDED_BY(reason), matches)
    if matches and isinstance(decisions, int | float):
        metrics.add(names.VOIDED_DECISIONS, decisions)
    metrics.set(names.UNDER_WAY, 0)
    metrics.set(names.UNDER_WAY_DECISIONS, 0)
    return matches


def begin_anew(metrics: Metrics, matches: int) -> None:
    """Count a resume that cannot restore the `matches` running matches of its checkpoint."""
    metrics.add(names.BEGUN_ANEW)
    metrics.add(names.VOIDED, matches)
    metrics.add(names.VOIDED_BY(ANEW), matches)
