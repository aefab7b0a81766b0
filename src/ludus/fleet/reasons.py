"""The reason that a match given up by its host is counted by. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ludus import limits

OTHER_REASONS = "host: other reasons"  # of a host that has given as many as it may


def reason_of(message: str, known: Collection[str]) -> str:
    """Return the first line of the host's message, shortened; or `OTHER_REASONS` if the host has too many `known`."""
    first_line = message.strip().partition("\n")[0] or "no reason given"
    reason = limits.clipped(f"host: {first_line}")
    return reason if reason in known or len(known) < limits.REASONS else OTHER_REASONS
