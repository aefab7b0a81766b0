"""Segments that hold what all seats of a match did, in the order they did it; seats that chose at once by number.

For algorithms that must see what the other seat decided between two decisions of one (R-NaD). A lane is a place for
matches, as a host has them: the rows of its seats write into one segment. What a decision is worth is known when its
seat decides again or the match ends; `learns` marks it in the segment in which that happens. Where some still wait for
that when a segment is full, the next one begins with a copy of everything from the first of them on: so all that lies
between a decision and what it leads to is in one segment, and each decision learns once.

`reward`, `ends` and `final_value` are those of the seat that decided. `opens` marks the first decision of a match,
whosever it is. `next_value` is not used.
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
    """As Segments, with a lane where that has a row; `live` says that the lane's match has a decision in it."""

    SPARE = 2  # a segment may be full again as soon as what waits was copied to it

    def __init__(self, spec: GameSpec, rows: int, length: int) -> None:
        super().__init__(spec, rows // spec.seats, length, interleaved=True)
        self._seats = spec.seats
        self._last = np.full(rows, NOTHING, np.int64)  # where in its lane's segment the row's decision waits
        self.forgotten = 0  # decisions that learned nothing, since the others filled a whole segment after them

    def take_forgotten(self) -> int:
        forgotten, self.forgotten = self.forgotten, 0
        return forgotten

    def state(self, handed: Sequence[SegmentBatch] = ()) -> dict[str, NDArray[Any]]:
        return {**super().state(handed), "last": self._last.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._last[:] = state["last"]
        super().restore(state)

    def close(self, arrivals: Arrivals, value_of: ValueOf) -> None:
        for ending in arrivals.endings:
            self._end(ending, value_of)
        waits = self._last[arrivals.row] != NOTHING
        self._flat.reward[self._at(arrivals.row[waits])] = arrivals.reward[waits]

    def open(self, arrivals: Arrivals, choices: Choices, learning: NDArray[np.bool_] | None) -> None:
        chosen = np.arange(len(arrivals)) if learning is None else np.flatnonzero(learning)
        seat = arrivals.row[chosen] % self._seats
        for each in range(self._seats):  # one decision a lane at a time
            index = chosen[seat == each]
            if len(index):
                self._record(each, index, arrivals, choices)

    def _record(self, seat: int, index: NDArray[np.intp], arrivals: Arrivals, choices: Choices) -> None:
        row = arrivals.row[index]
        lane = row // self._seats
        full = lane[self._position[lane] == self._length]
        if len(full):
            self._flush(full, np.zeros(len(full), np.float32))
        position, begins, flat = self._position[lane], ~self._live[lane], self._flat
        flat.learns[self._at(row[self._last[row] != NOTHING])] = True
        at = lane * self._length + position
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
        self._began[lane[begins]] = position[begins]
        self._last[row] = position
        self._position[lane] = position + 1
        self._live[lane] = True

    def _at(self, row: NDArray[np.int32]) -> Places:
        """Where the decisions of these rows wait, in arrays without a time axis."""
        places: Places = row // self._seats * self._length + self._last[row]
        return places

    def _end(self, ending: Ending, value_of: ValueOf) -> None:
        lane = int(ending.rows[0]) // self._seats
        if not self._live[lane]:
            return
        self._live[lane] = False
        seats = np.flatnonzero(self._last[ending.rows] != NOTHING)
        rows, at = ending.rows[seats], self._last[ending.rows[seats]]
        self._last[ending.rows] = NOTHING
        if ending.void:
            self._position[lane] = self._began[lane]
            return
        self._open.reward[lane, at] = ending.reward[seats]
        self._open.ends[lane, at] = True
        self._open.learns[lane, at] = True
        if ending.truncated and ending.final_obs is not None and len(rows):
            going_on = np.isin(seats, ending.out, invert=True)
            self._open.final_value[lane, at] = np.where(going_on, value_of(ending.final_obs[seats], rows), 0)
        if self._position[lane] == self._length:
            self._flush(np.array([lane]), np.zeros(1, np.float32))

    def _flush(self, rows: NDArray[np.integer[Any]], next_value: NDArray[np.float32]) -> None:
        """Of these lanes."""
        super()._flush(rows, next_value)
        for lane in rows.tolist():
            self._carry(lane)

    def _carry(self, lane: int) -> None:
        """Let the lane's next segment begin with what waits, and all that came after it."""
        last = self._last[lane * self._seats : (lane + 1) * self._seats]
        self.forgotten += int(np.count_nonzero(last == 0))
        last[last == 0] = NOTHING  # it would leave no room
        if not (last != NOTHING).any():
            return
        first = int(last[last != NOTHING].min())
        kept = self._length - first
        for name, column in self._columns.items():
            if column.timed:
                decisions = getattr(self._open, name)[lane]
                decisions[:kept] = decisions[first:]
        self._open.learns[lane, :kept] = False  # what has learned has done so
        last[last != NOTHING] -= first
        self._position[lane] = kept
