"""Counts voided matches by reason, for a whole fleet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ludus import limits
from ludus.types import Ending

OTHER_REASONS = "host: other reasons"  # for hosts that have used up their number of reasons


class VoidedMatches:
    """The only counter of voided matches in a fleet.

    A match that the fleet's caller knows is counted when its ending is delivered, so that the count agrees with what
    the caller has seen. A match of which no row was delivered has no ending and is counted at once.
    """

    def __init__(self) -> None:
        self.by_reason: Counter[str] = Counter()
        self.unseen = 0  # of these, matches of which no row was delivered

    def count_endings(self, endings: Iterable[Ending]) -> None:
        """Count the voided matches among endings that are delivered now."""
        for ending in endings:
            if ending.void:
                self.by_reason[ending.void] += 1

    def count_unseen(self, reason: str) -> None:
        """Count a match that was lost before any of its rows was delivered."""
        self.by_reason[reason] += 1
        self.unseen += 1


def reason_of(message: str, reasons: Collection[str]) -> str:
    """Return the first line of a host's error message, shortened.

    Returns `OTHER_REASONS` for a new reason if the host has already as many `reasons` as it may have.
    """
    first_line = message.strip().partition("\n")[0] or "no reason given"
    reason = limits.clipped(f"host: {first_line}")
    return reason if reason in reasons or len(reasons) < limits.REASONS else OTHER_REASONS
