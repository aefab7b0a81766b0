"""A line for the live table, and logs without the time of day."""

from __future__ import annotations

from ludus.metrics import names
from ludus.metrics.observer import Numbers


def table_lines(numbers: Numbers) -> list[tuple[str, str]]:
    """Show how often players name the very number they see. `exact` is a fact that the host reports for each match."""
    share = numbers.get(names.FACT("exact"))
    return [] if share is None else [("exact", f"{float(share):.0%}")]


def stable_log(log: str) -> str:
    """Remove the line with the time of day: it differs when a match is replayed."""
    return "\n".join(line for line in log.splitlines() if not line.startswith("clock "))
