"""Replays the recorded actions of saved matches in a new process of their host. Pure: rows in, rows and actions out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.saved_state import NONE, HostState
from ludus.wire.bodies import ArrivalsBody


class FastForward:
    """The replay of one host's matches.

    Pass all arrivals to `take` and send the actions that `answers` returns, until it returns none; then call
    `diverged`. The match in a slot has diverged if it ended or was lost during the replay, if a recorded action is not
    legal, or if the rows that wait at the end differ from the saved ones. Rows of such a match get no further answers:
    the host has to be restarted without it.
    """

    def __init__(self, saved: HostState) -> None:
        self.saved = saved
        self._end = np.cumsum(saved.count, dtype=np.int64)
        self._next = self._end - saved.count
        self._bodies: list[ArrivalsBody] = []
        self._waiting: list[ArrivalsBody] = []  # rows that have no recorded action left
        self._diverged: set[int] = set()

    def take(self, body: ArrivalsBody) -> None:
        """Take in rows that arrived."""
        if len(body.row):
            self._bodies.append(body)

    def lose(self, slot: int) -> None:
        """Mark the match in this slot as diverged: it ended, or could not be started."""
        if self.saved.number[slot] != NONE:
            self._diverged.add(slot)

    def answers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (row, action) with the recorded actions for the rows that arrived since the last call."""
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
        """Return the slots whose match has diverged. Call when `answers` returns nothing."""
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
        """Return the rows that wait: first the saved rows in their original order, then rows of newly begun matches."""
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
