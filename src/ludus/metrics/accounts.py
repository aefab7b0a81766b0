"""Accounting of training matches: begun = ended + voided + unfinished + under way.

An actor counts the first four and reports all numbers together, so the equation holds in every report. Matches under
way can be lost without their actor noticing: when it dies, or when the checkpoint that contains them is damaged. The
code that detects such a loss calls `void`. `MatchAccount` counts the matches under way of one of several actors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ludus.metrics import names
from ludus.metrics.core import Delta, Metrics

ACTOR = "actor_died"  # reason of matches lost with their actor
NODE = "node_lost"  # reason of matches lost with the node of their actor
ANEW = "anew"  # reason of matches in a checkpoint that could not be resumed


OVER = (names.MATCHES, names.VOIDED, names.UNFINISHED)


@dataclass(slots=True)
class MatchAccount:
    """The matches under way of one actor, and their decisions, as of its last report."""

    matches: int = 0
    decisions: float = 0

    def count(self, delta: Delta) -> None:
        """Count what the actor has reported."""
        counters, decisions = delta.counters, delta.gauges.get(names.UNDER_WAY_DECISIONS)
        self.matches += int(counters.get(names.BEGUN, 0) - sum(counters.get(name, 0) for name in OVER))
        if isinstance(decisions, int | float):
            self.decisions = decisions

    def void(self, metrics: Metrics, reason: str, actor: int = 0) -> int:
        """Count all these matches as voided for this reason. Returns their number."""
        matches, decisions = max(0, self.matches), self.decisions if self.matches > 0 else 0
        void(metrics, matches, reason, decisions)
        metrics.set(names.UNDER_WAY, 0, actor)
        metrics.set(names.UNDER_WAY_DECISIONS, 0, actor)
        self.matches, self.decisions = 0, 0
        return matches


def under_way(counters: Mapping[str, float]) -> int:
    """Return the matches that have begun and not ended, from the counters. 0 if `match/begun` is missing."""
    return max(0, int(counters.get(names.BEGUN, 0) - sum(counters.get(name, 0) for name in OVER)))


def void(metrics: Metrics, matches: int, reason: str, decisions: float = 0) -> None:
    """Count matches as voided for this reason, and the decisions made in them."""
    if matches:
        metrics.add(names.VOIDED, matches)
        metrics.add(names.VOIDED_BY(reason), matches)
    if decisions:
        metrics.add(names.VOIDED_DECISIONS, decisions)


def begin_anew(metrics: Metrics, matches: int) -> None:
    """Count a resume that cannot restore the `matches` running matches of its checkpoint."""
    metrics.add(names.BEGUN_ANEW)
    metrics.add(names.VOIDED, matches)
    metrics.add(names.VOIDED_BY(ANEW), matches)
