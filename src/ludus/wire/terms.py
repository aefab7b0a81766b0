"""The reward terms of one turn, as a host reports them in an EVENT frame. Pure.

`{"reward_terms": {"match": 7, "terms": {"goal": [10.0, 0.0], ...}}}`: for each term, what each seat earned since the
previous turn, weight included. Sent before the ARRIVALS or ENDING frame of that turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludus import limits
from ludus.errors import ProtocolError

KEY = "reward_terms"
FACT_PREFIX = "reward_"
NAME_CHARS = limits.FACT_CHARS - len(FACT_PREFIX) - len("@99999")  # it must fit into a fact's name


def event(match: int, terms: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Return the event that reports the terms of a turn."""
    return {KEY: {"match": match, "terms": terms}}


def fact(term: str, seat: int) -> str:
    """Return the name of the fact that holds what a seat earned by a term in a match."""
    return f"{FACT_PREFIX}{term}@{seat}"


def read(event: Mapping[str, Any], seats: int) -> tuple[int, Mapping[str, Sequence[float]]] | None:  # Any: of a host
    """Return the match number and the terms of an event, or None for an event of another kind.

    Raises ProtocolError if the event does not have the form above.
    """
    if KEY not in event:
        return None
    match event[KEY]:
        case {"match": int(number), "terms": dict(terms)} if len(terms) <= limits.FACTS:
            for name, values in terms.items():
                if not is_valid(name, values, seats):
                    raise ProtocolError(
                        f"the host reported reward term {name[:200]!r} as {str(values)[:200]}, expected {seats} numbers"
                    )
            return number, terms
    report, most = str(event[KEY])[:200], limits.FACTS
    raise ProtocolError(f"the host reported reward terms as {report}, expected a match number and up to {most} terms")


def is_valid(name: str, values: object, seats: int) -> bool:
    """Return whether a term has a usable name and a finite number for each seat."""
    if not 0 < len(name) <= NAME_CHARS or not name.isprintable() or "@" in name:
        return False
    if not isinstance(values, list) or len(values) != seats:
        return False
    return all(isinstance(value, int | float) and abs(value) <= limits.REWARD * 1e3 for value in values)
