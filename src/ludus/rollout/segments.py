"""Records the decisions of the learner's rows in segments of T consecutive decisions per row, in preallocated arrays.

A segment may span matches. It is complete when the reward of its last decision and the value of the next state are
known (0 if the match ended). While another policy plays a row for a match, nothing is recorded, and the segment
continues in the next match of that row. Segments that do not fit into a batch go into the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.columns import Column
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, SegmentBatch

Rows = NDArray[np.integer[Any]]
ValueOf = Callable[
    [NDArray[np.uint8], NDArray[np.int32]], NDArray[np.float32]
]  # returns the values of observations in these rows
ALIGNMENT = 64  # bytes: every array of a batch starts on a cache line


class SegmentLayout:
    """The layout of a batch of B segments in one block of memory, which may be shared."""

    def __init__(
        self, spec: GameSpec, segments: int, length: int, hidden_state: int = 0, *, interleaved: bool = False
    ) -> None:
        """`hidden_state` is the size of a row's hidden state. For `interleaved`, see rollout/interleaved.py."""
        self.segments, self.length = segments, length
        self.sizes = {
            "time": length,
            "seats_time": length if interleaved else 0,
            "obs_bytes": spec.obs.nbytes,
            "actions": spec.actions,
            "hidden_state": hidden_state,
        }
        self._offsets: dict[str, int] = {}
        self.nbytes = 0
        for name, column in SegmentBatch.columns().items():
            self._offsets[name] = self.nbytes
            nbytes = prod(column.shape(segments, self.sizes)) * column.dtype.itemsize
            self.nbytes += (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT

    def over(self, buffer: bytearray | memoryview) -> SegmentBatch:
        """Return a batch whose arrays are views of this memory."""
        arrays: dict[str, NDArray[Any]] = {}  # Any: columns of several types
        for name, column in SegmentBatch.columns().items():
            shape = column.shape(self.segments, self.sizes)
            arrays[name] = np.frombuffer(buffer, column.dtype, prod(shape), self._offsets[name]).reshape(shape)
        return SegmentBatch(**arrays)

    def allocate(self) -> SegmentBatch:
        return self.over(bytearray(self.nbytes))


class Segments:
    """Fills batches with segments.

    Call `fill` with an empty batch. Then, until `full` is True, call `close` and `open` for all arrivals. Segments that
    complete while the batch is full wait in an overflow buffer and are the first of the next batch. Recording may
    continue without a batch while `roomy` is True, which means that the overflow buffer has room.
    """

    SPARE = 1  # segments that a row may complete in one step

    def __init__(
        self, spec: GameSpec, rows: int, length: int, hidden_state: int = 0, *, interleaved: bool = False
    ) -> None:
        self._layout = partial(SegmentLayout, spec, length=length, hidden_state=hidden_state, interleaved=interleaved)
        layout = self._layout(rows)
        self._length = length
        self._open = layout.allocate()
        self._flat = self._open.flat()  # views with one index instead of two, which are faster
        self._position = np.zeros(rows, np.int64)  # decisions in the row's open segment
        self._began = np.zeros(rows, np.int64)  # position in it at which the row's match began
        self._live = np.zeros(rows, np.bool_)  # the last decision still lacks its reward
        self._waiting = self._layout(2 * self.SPARE * rows).allocate()
        self._waits = 0
        self._batch: SegmentBatch | None = None
        self._filled = 0

    @property
    def _columns(self) -> dict[str, Column]:
        """Return the columns that have values in this run; a hidden state of size 0 has none."""
        return {name: column for name, column in SegmentBatch.columns().items() if getattr(self._open, name).size}

    @property
    def full(self) -> bool:
        return self._batch is not None and self._filled == len(self._batch.action)

    @property
    def waits(self) -> int:
        """Return the number of complete segments in the overflow buffer."""
        return self._waits

    @property
    def roomy(self) -> bool:
        """Return True if the overflow buffer can hold every segment that the next step might complete."""
        return self._waits <= self.SPARE * len(self._position)

    @property
    def recorded(self) -> int:
        """Return the number of decisions in open segments and in complete ones outside full batches."""
        filled = 0 if self._batch is None or self.full else self._filled
        return int(self._position.sum()) + (filled + self._waits) * self._length

    def take_forgotten(self) -> int:
        """Return the number of decisions since the last call that were dropped."""
        return 0

    def fill(self, batch: SegmentBatch) -> None:
        """Set the batch that receives complete segments. Those in the overflow buffer move into it first.

        Does nothing if this batch is being filled already.
        """
        if batch is self._batch and not self.full:
            return
        self._batch, self._filled = batch, 0
        moved = min(self._waits, len(batch.action))
        batch.put_from(0, self._waiting, slice(0, moved))
        remaining = self._waits - moved
        if moved and remaining:
            self._waiting.put_from(0, self._waiting, np.arange(moved, self._waits))
        self._filled, self._waits = moved, remaining

    def state(self, returned: Sequence[SegmentBatch] = ()) -> dict[str, NDArray[Any]]:
        """Return the recorded decisions as plain arrays: open segments, and complete segments that are not learned yet.

        The complete segments begin with those of `returned`: full batches that were not trained on and are saved with
        the state. Other full batches belong to the learner. Any: several dtypes.
        """
        filled = 0 if self._batch is None or self.full else self._filled
        recorded = np.arange(self._length) < self._position[:, None]  # [rows, T]
        state: dict[str, NDArray[Any]] = {"position": self._position, "began": self._began, "live": self._live}
        for name, column in self._columns.items():
            complete = [getattr(batch, name) for batch in returned]
            if self._batch is not None:
                complete.append(getattr(self._batch, name)[:filled])
            complete.append(getattr(self._waiting, name)[: self._waits])
            state[f"complete.{name}"] = column.pack(np.concatenate(complete))
            if not column.late:
                state[f"open.{name}"] = column.pack(getattr(self._open, name)[recorded if column.timed else ...])
        return {name: array.copy() for name, array in state.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the `state` of earlier segments. Call before the first `fill`.

        Raises ValueError or KeyError if it does not fit.
        """
        rows = len(self._position)
        self._position[:], self._began[:], self._live[:] = state["position"], state["began"], state["live"]
        recorded = np.arange(self._length) < self._position[:, None]
        self._waits = len(state["complete.action"])
        layout = self._layout(2 * self.SPARE * rows + self._waits)
        self._waiting = layout.allocate()
        for name, column in self._columns.items():
            getattr(self._waiting, name)[: self._waits] = column.unpack(state[f"complete.{name}"], layout.sizes)
            if not column.late:
                array = column.unpack(state[f"open.{name}"], layout.sizes)
                getattr(self._open, name)[recorded if column.timed else ...] = array

    def close(self, arrivals: Arrivals, value_of: ValueOf) -> None:
        """Add rewards and endings to the previous decisions of these rows. `value_of` bootstraps truncated matches."""
        for ending in arrivals.endings:
            self._end(ending, value_of)
        live = self._live[arrivals.row]
        row = arrivals.row[live]
        self._flat.reward[row * self._length + self._position[row] - 1] = arrivals.reward[live]

    def open(self, arrivals: Arrivals, choices: Choices, learning: NDArray[np.bool_] | None) -> None:
        """Record the choices of the rows in the mask `learning` (None: all rows)."""
        row, obs, legal, opens = arrivals.row, arrivals.obs, arrivals.legal, arrivals.opens
        action, logp, value = choices.action, choices.logp, choices.value
        if learning is not None:
            row, obs, legal, opens = row[learning], obs[learning], legal[learning], opens[learning]
            action, logp, value = action[learning], logp[learning], value[learning]
        complete = self._position[row] == self._length
        if complete.any():
            self._flush(row[complete], value[complete])
        position, flat = self._position[row], self._flat
        if choices.hidden_state is not None:
            begins = position == 0
            hidden_state = choices.hidden_state if learning is None else choices.hidden_state[learning]
            self._open.hidden_state[row[begins]] = hidden_state[begins]
        at = row * self._length + position
        flat.obs[at] = obs
        flat.legal[at] = legal
        flat.action[at] = action
        flat.logp[at] = logp
        flat.value[at] = value
        flat.reward[at] = 0
        flat.ends[at] = False
        flat.final_value[at] = 0
        flat.opens[at] = opens
        flat.version[at] = choices.version
        if opens.any():
            self._began[row[opens]] = position[opens]
        self._position[row] = position + 1
        self._live[row] = True

    def _end(self, ending: Ending, value_of: ValueOf) -> None:
        seats = np.flatnonzero(self._live[ending.rows])
        rows = ending.rows[seats]
        if not len(rows):
            return
        self._live[rows] = False
        if ending.void:
            self._position[rows] = self._began[rows]
            return
        at = self._position[rows] - 1
        self._open.reward[rows, at] = ending.reward[seats]
        self._open.ends[rows, at] = True
        if ending.truncated and ending.final_obs is not None:
            going_on = np.isin(seats, ending.out, invert=True)
            self._open.final_value[rows, at] = np.where(going_on, value_of(ending.final_obs[seats], rows), 0)
        complete = rows[self._position[rows] == self._length]
        if len(complete):
            self._flush(complete, np.zeros(len(complete), np.float32))

    def _flush(self, rows: Rows, next_value: NDArray[np.float32]) -> None:
        self._open.next_value[rows] = next_value
        self._position[rows] = 0
        self._began[rows] = 0
        room = len(self._batch.action) - self._filled if self._batch is not None else 0
        fits, rest = rows[:room], rows[room:]
        if self._batch is not None and len(fits):
            self._batch.put_from(self._filled, self._open, fits)
            self._filled += len(fits)
        if len(rest):
            self._waiting.put_from(self._waits, self._open, rest)
            self._waits += len(rest)
