"""Every training match is accounted for: begun = ended + voided + unfinished + under way.

The actor counts the first three and measures the last, and reports all of them at once, so the equation holds in every
report. What is under way can be lost without the actor knowing it: with the actor itself, or with the file of a
checkpoint that held it. Whoever notices that calls `void_under_way`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ludus.metrics import names
from ludus.metrics.core import Metrics

ACTOR = "actor_died"  # reason of matches that were lost with their actor
ANEW = "anew"  # reason of matches that a checkpoint had under way, and that could not be resumed


def under_way(counters: Mapping[str, float]) -> int:
    """Matches that have begun and not ended, by the counters alone. 0 where the counters have no `match/begun`."""
    over = (names.MATCHES, names.VOIDED, names.UNFINISHED)
    return max(0, int(counters.get(names.BEGUN, 0) - sum(counters.get(name, 0) for name in over)))


def void_under_way(metrics: Metrics, reason: str) -> int:
    """Count all matches under way as voided for this reason, and return how many these are."""
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
    """Count a resume that cannot go on with the matches of its checkpoint, which had so many under way."""
    metrics.add(names.BEGUN_ANEW)
    metrics.add(names.VOIDED, matches)
    metrics.add(names.VOIDED_BY(ANEW), matches)
