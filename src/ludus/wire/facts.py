"""Limits the number of fact names in ENDING frames, because each becomes a metric with a column of its own."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping

from ludus import limits
from ludus.errors import HostFault, ProtocolError

_LOG = logging.getLogger("ludus.fleet")


class FactNames:
    """The fact names that all hosts of a fleet have used so far.

    A host may use `limits.FACTS` names that no other host used before it. The fleet keeps `limits.FACTS_OF_FLEET` names
    and leaves facts with other names out of their ending, so that one host cannot use up the names of the others.
    """

    def __init__(self) -> None:
        self._full_names: set[str] = set()  # full names, `touches@1`
        self._names: set[str] = set()  # without the seat, `touches`
        self._first_used: defaultdict[int, set[str]] = defaultdict(set)  # names that a host was the first to use
        self._is_full = False

    def admit(self, host: int, facts: Mapping[str, float], seats: int) -> Mapping[str, float]:
        """Return the facts whose names are kept. Raises ProtocolError for a name that is too long or not printable, and
        for a host with too many names."""
        if facts.keys() <= self._full_names:
            return facts
        for name in facts.keys() - self._full_names:
            self._enter(host, name, seats)
        return {name: value for name, value in facts.items() if name in self._full_names}

    def _enter(self, host: int, name: str, seats: int) -> None:
        if not 0 < len(name) <= limits.FACT_CHARS or not name.isprintable():
            expected = f"1 to {limits.FACT_CHARS} printable characters"
            raise ProtocolError(
                f"ENDING has a fact named {limits.clipped(name)!r}, expected {expected}", HostFault.BAD_ENDING
            )
        whole = _without_seat(name, seats)
        if whole in self._names:
            self._full_names.add(name)
            return
        self._first_used[host].add(whole)
        if len(self._first_used[host]) > limits.FACTS:
            raise ProtocolError(
                f"ENDING has the fact {name!r}, one more than the {limits.FACTS} names a host may use",
                HostFault.BAD_ENDING,
            )
        if len(self._names) < limits.FACTS_OF_FLEET:
            self._names.add(whole)
            self._full_names.add(name)
        elif not self._is_full:
            self._is_full = True
            _LOG.warning("hosts use more than %d names of facts; %r is left out", limits.FACTS_OF_FLEET, name)


def _without_seat(fact: str, seats: int) -> str:
    """Return `touches` for `touches@1`. Names without a seat belong to the whole match and are returned as they are."""
    name, _, seat = fact.rpartition("@")
    return name if name and seat.isdecimal() and int(seat) < seats and seat == str(int(seat)) else fact
