"""Showdown's lines of the live table, and its logs without the time of day."""

from __future__ import annotations

from ludus.metrics import names
from ludus.metrics.exporters import text
from ludus.metrics.observer import Numbers

MOVES, SWITCHES = "moves", "switches"  # facts of a battle: moves, and switches that were not forced
CLOCK = "|t:|"  # begins lines of a battle's log that hold the time of day


def table_lines(numbers: Numbers) -> list[tuple[str, str]]:
    """Return the share of decisions that are voluntary switches, or no line before the first battle has ended."""
    switches, moves = (text.number(numbers, names.FACT(fact)) for fact in (SWITCHES, MOVES))
    if not switches + moves > 0:  # also if both are NaN
        return []
    return [("voluntary switches", text.percent(switches / (switches + moves)))]


def stable_log(log: str) -> str:
    """Return a battle's log without the lines that hold the time of day."""
    return "\n".join(line for line in log.split("\n") if not line.startswith(CLOCK))
