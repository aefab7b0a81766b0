"""Leads a host's matches to where they stood, with the choices they had. Pure: rows in, rows and actions out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.saved_state import NONE, HostState
from ludus.wire.frames import ArrivalsBody


class FastForward:
    """`take` what comes, then send the `answers` until there are none; then `diverged` judges.

    A slot has diverged when its match ended or was lost, when a choice it had is not legal, or when it does not come to
    the rows that waited. What its rows ask is left open: the host has to be started again without that match.
    """

    def __init__(self, saved: HostState) -> None:
        self.saved = saved
        self._end = np.cumsum(saved.count, dtype=np.int64)
        self._next = self._end - saved.count
        self._bodies: list[ArrivalsBody] = []
        self._waiting: list[ArrivalsBody] = []  # rows without further choices
        self._diverged: set[int] = set()

    def take(self, body: ArrivalsBody) -> None:
        if len(body.row):
            self._bodies.append(body)

    def lose(self, slot: int) -> None:
        """Its match is over, or could not be opened."""
        if self.saved.number[slot] != NONE:
            self._diverged.add(slot)

    def answers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(row, action) for what came since the last call."""
        if not self._bodies:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        body, self._bodies = ArrivalsBody.concatenate(self._bodies), []
        has_choice = self._next[body.row] < self._end[body.row]
        self._waiting.append(body.take(~has_choice))
        row = body.row[has_choice]
        action = self.saved.choice[self._next[row]]
        mask = body.legal[has_choice]
        legal = action // 8 < mask.shape[1]
        legal &= (mask[np.arange(len(row)), np.minimum(action // 8, mask.shape[1] - 1)] >> (action % 8)) & 1 == 1
        self._diverged.update((row[~legal] // self.saved.seats).tolist())
        going = legal & ~np.isin(row // self.saved.seats, list(self._diverged))
        self._next[row[going]] += 1
        return row[going], action[going]

    def diverged(self) -> set[int]:
        """Slots that do not stand where they stood, when there are no more answers."""
        saved, expected = self.saved, _by_row(self.saved.waiting)
        stands = _by_row(ArrivalsBody.concatenate(self._waiting)) if self._waiting else {}
        slots = set(self._diverged)
        slots.update((np.flatnonzero(self._next < self._end) // saved.seats).tolist())
        for row in expected.keys() | stands.keys():
            slot = row // saved.seats
            if saved.number[slot] != NONE and expected.get(row) != stands.get(row):
                slots.add(slot)
        return slots

    def arrivals(self) -> ArrivalsBody:
        """Rows that wait, in the order in which they had come; then those of matches that begin anew."""
        waiting = ArrivalsBody.concatenate(self._waiting)
        anew = self.saved.number[waiting.row // self.saved.seats] == NONE
        return ArrivalsBody.concatenate([self.saved.waiting, waiting.take(anew)])


def _by_row(body: ArrivalsBody) -> dict[int, tuple[int, int, bytes, bytes, bytes]]:
    return {
        row: (
            int(body.match[at]),
            int(body.opens[at]),
            body.reward[at].tobytes(),
            body.legal[at].tobytes(),
            body.obs[at].tobytes(),
        )
        for at, row in enumerate(body.row.tolist())
    }
