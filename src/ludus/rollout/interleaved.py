"""Segments that contain the decisions of all seats of a match slot, in time order. Simultaneous decisions are in the
order of the seats.

R-NaD needs them: its returns depend on the decisions that other seats make between two decisions of a seat. The outcome
of a decision is known when its seat decides again or the match ends. `learns` is True for a decision in the segment in
which that happens. If a segment fills up while some decisions still lack their outcome, the next segment starts with a
copy of all decisions from the first of these on. So a decision and its outcome are always in one segment, and each
decision is learned from once.

`reward`, `ends` and `final_value` belong to the seat that decided. `opens` marks the first decision of a match by any
seat. `next_value` is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.rollout.segments import Segments, ValueOf
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, SegmentBatch

Places = NDArray[np.int64]
NOTHING = -1


class InterleavedSegments(Segments):
    """Like `Segments`, with one open segment per slot instead of per row.

    `_live` is True for a slot whose segment contains a decision of the current match.
    """

    SPARE = 2  # copied decisions may fill a second segment at once

    def __init__(self, spec: GameSpec, rows: int, length: int) -> None:
        super().__init__(spec, rows // spec.seats, length, interleaved=True)
        self._seats = spec.seats
        self._last = np.full(rows, NOTHING, np.int64)  # position of the row's decision that lacks its outcome
        self.forgotten = 0  # decisions dropped because a whole segment passed before their outcome

    def take_forgotten(self) -> int:
        forgotten, self.forgotten = self.forgotten, 0
        return forgotten

    def state(self, returned: Sequence[SegmentBatch] = ()) -> dict[str, NDArray[Any]]:
        return {**super().state(returned), "last": self._last.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._last[:] = state["last"]
        super().restore(state)

    def close(self, arrivals: Arrivals, value_of: ValueOf) -> None:
        for ending in arrivals.endings:
            self._end(ending, value_of)
        waits = self._last[arrivals.row] != NOTHING
        self._flat.reward[self._at(arrivals.row[waits])] = arrivals.reward[waits]

    def open(self, arrivals: Arrivals, choices: Choices, learning: NDArray[np.bool_] | None) -> None:
        recorded = np.arange(len(arrivals)) if learning is None else np.flatnonzero(learning)
        seat = arrivals.row[recorded] % self._seats
        for each in range(self._seats):  # one decision per slot at a time
            index = recorded[seat == each]
            if len(index):
                self._record(each, index, arrivals, choices)

    def _record(self, seat: int, index: NDArray[np.intp], arrivals: Arrivals, choices: Choices) -> None:
        row = arrivals.row[index]
        slot = row // self._seats
        full = slot[self._position[slot] == self._length]
        if len(full):
            self._flush(full, np.zeros(len(full), np.float32))
        position, begins, flat = self._position[slot], ~self._live[slot], self._flat
        flat.learns[self._at(row[self._last[row] != NOTHING])] = True
        at = slot * self._length + position
        flat.obs[at] = arrivals.obs[index]
        flat.legal[at] = arrivals.legal[index]
        flat.action[at] = choices.action[index]
        flat.logp[at] = choices.logp[index]
        flat.value[at] = choices.value[index]
        flat.reward[at] = 0
        flat.ends[at] = False
        flat.final_value[at] = 0
        flat.opens[at] = begins
        flat.version[at] = choices.version
        flat.seat[at] = seat
        flat.learns[at] = False
        self._began[slot[begins]] = position[begins]
        self._last[row] = position
        self._position[slot] = position + 1
        self._live[slot] = True

    def _at(self, row: NDArray[np.int32]) -> Places:
        """Return the flat indices of the decisions of these rows that lack their outcome."""
        places: Places = row // self._seats * self._length + self._last[row]
        return places

    def _end(self, ending: Ending, value_of: ValueOf) -> None:
        slot = int(ending.rows[0]) // self._seats
        if not self._live[slot]:
            return
        self._live[slot] = False
        seats = np.flatnonzero(self._last[ending.rows] != NOTHING)
        rows, at = ending.rows[seats], self._last[ending.rows[seats]]
        self._last[ending.rows] = NOTHING
        if ending.void:
            self._position[slot] = self._began[slot]
            return
        self._open.reward[slot, at] = ending.reward[seats]
        self._open.ends[slot, at] = True
        self._open.learns[slot, at] = True
        if ending.truncated and ending.final_obs is not None and len(rows):
            going_on = np.isin(seats, ending.out, invert=True)
            self._open.final_value[slot, at] = np.where(going_on, value_of(ending.final_obs[seats], rows), 0)
        if self._position[slot] == self._length:
            self._flush(np.array([slot]), np.zeros(1, np.float32))

    def _flush(self, rows: NDArray[np.integer[Any]], next_value: NDArray[np.float32]) -> None:
        """Complete the segments of these slots."""
        super()._flush(rows, next_value)
        for slot in rows.tolist():
            self._carry(slot)

    def _carry(self, slot: int) -> None:
        """Copy the decisions without an outcome, and all later ones, to the start of the slot's next segment."""
        last = self._last[slot * self._seats : (slot + 1) * self._seats]
        self.forgotten += int(np.count_nonzero(last == 0))
        last[last == 0] = NOTHING  # a copy of the whole segment would leave no room
        if not (last != NOTHING).any():
            return
        first = int(last[last != NOTHING].min())
        copies = self._length - first
        for name, column in self._columns.items():
            if column.timed:
                decisions = getattr(self._open, name)[slot]
                decisions[:copies] = decisions[first:]
        self._open.learns[slot, :copies] = False  # copies of decisions that were already learned from
        last[last != NOTHING] -= first
        self._position[slot] = copies
