"""Holds what a host has sent until the fleet's caller takes it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.fleet.interface import HostEvent
from ludus.fleet.voided import VoidedMatches
from ludus.metrics.times import Times
from ludus.types import Ending
from ludus.wire.bodies import ArrivalsBody

_LOG = logging.getLogger("ludus.fleet")


class Inbox:
    """Arrivals, endings and events of one host. It is kept when the host's process is restarted.

    A row has lapsed if its match ended after the row was delivered and before it was answered. The caller may still
    answer it; the answer is dropped.
    """

    def __init__(self, host: int, endings: Iterable[Ending], voided: VoidedMatches) -> None:
        self.host = host
        self.arrivals: list[ArrivalsBody] = []  # rows are local to the host
        self.endings = list(endings)  # rows are those of the fleet
        self.events: list[HostEvent] = []
        self.times = Times()  # how the host spent its time
        self._voided = voided
        self._has_warned = False
        self._lapsed: set[int] = set()

    def take(self) -> tuple[list[ArrivalsBody], list[Ending]]:
        """Return the arrivals and endings since the last call."""
        arrivals, endings = self.arrivals, self.endings
        self.arrivals, self.endings = [], []
        if self._lapsed:
            self._lapsed.difference_update(row for body in arrivals for row in body.row.tolist())
        if endings:
            self._voided.count_endings(endings)
        return arrivals, endings

    def add_event(self, event: HostEvent) -> None:
        """Keep an event until it is taken, or drop it if `limits.EVENTS_UNTAKEN` events are waiting already."""
        if len(self.events) < limits.EVENTS_UNTAKEN:
            self.events.append(event)
        elif not self._has_warned:
            self._has_warned = True
            _LOG.warning("host %d sends events faster than they are taken; some are left out", self.host)

    def take_events(self) -> list[HostEvent]:
        """Return the events since the last call."""
        events, self.events = self.events, []
        return events

    def lapse(self, rows: Iterable[int]) -> None:
        """Mark these rows as needing no answer any more, and remove the rows among them that were not delivered."""
        lapsed = list(rows)
        if not lapsed:
            return
        self._lapsed.update(lapsed)
        rest = [body.take(~np.isin(body.row, lapsed)) for body in self.arrivals]
        self.arrivals = [body for body in rest if len(body.row)]

    def drop_answers(self, rows: NDArray[np.int32]) -> None:
        """Accept answers for rows that have lapsed. Raises ValueError for a row that was never delivered."""
        late = set(rows.tolist())
        if not late <= self._lapsed:
            raise ValueError(f"row {min(late - self._lapsed)} of host {self.host} does not wait for an action")
        self._lapsed -= late
