"""The interface of a fleet, which rollout, actor and arena use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.saved_state import FleetState
from ludus.metrics.times import Times
from ludus.spec import GameSpec
from ludus.types import Arrivals

HostEvent = Mapping[str, Any]  # the JSON object of an EVENT frame. Any: each game has its own


@dataclass(frozen=True, slots=True)
class FleetHealth:
    """Counts since the fleet was started."""

    alive: int  # hosts that play, or have nothing left to play
    restarts: int  # of hosts
    given_up: int = 0  # hosts that failed too often in a row and are not started again
    voided: Counter[str] = field(default_factory=Counter)  # matches by reason, see `VoidedMatches`
    unseen: int = 0  # voided matches of which `recv` never returned a row
    exhausted: bool = False  # no match is left: the schedule is played, or the fleet was drained
    moved: tuple[int, ...] = ()  # numbers of scheduled matches that were taken over from a host that was given up
    busy: tuple[float, ...] = ()  # share of its time that each host did not wait; NaN: not reported yet


class Fleet(Protocol):
    """N hosts x K matches x S seats as one table of rows: row = (host * K + slot) * S + seat."""

    spec: GameSpec
    hosts: int
    rows: int

    @property
    def health(self) -> FleetHealth: ...

    def recv(self, timeout_s: float, *, wait_all: bool = False) -> Arrivals:
        """Return the rows that must choose, and the matches that have ended; nothing if none came within the timeout.

        With `wait_all`, wait until every host has answered, so that the order of rows depends on the seed alone. Raises
        FleetError when no host is left.
        """
        ...

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """Send actions for rows that `recv` returned, in any order. Actions of matches that were voided are dropped."""
        ...

    def saved_state(self) -> FleetState | None:
        """Return the state of all matches, from which another fleet can continue; None if this kind of fleet cannot."""
        ...

    def take_times(self) -> Times:
        """Return how the hosts spent their time since the last call."""
        ...

    def close(self) -> None:
        """End all matches and stop the hosts."""
        ...
