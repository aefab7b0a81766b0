"""Records the rows of clients, the number of the latest decision of each, and its answer. Pure.

Every row of a client has a slot, which is also its row number in the policy's table of hidden states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.serving.protocol import Ask, Code

MOST_NAMED = 1000  # rows in a refusal
NEVER = -1  # number of a slot without a decision
Places = NDArray[np.intp]


class RefusedRows(Exception):
    """Rows of an ASK that must not be answered."""

    def __init__(self, code: Code, message: str, rows: list[int] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.rows = code, message, rows


class CachedAnswers(NamedTuple):
    """The latest answers of n slots."""

    action: NDArray[np.int32]
    logp: NDArray[np.float32]
    value: NDArray[np.float32]
    version: int


class ClientRows:
    """The slots of one client, by its own row numbers."""

    def __init__(self) -> None:
        self.slot = np.full(0, -1, np.int64)  # [highest row + 1]

    @property
    def slots(self) -> NDArray[np.int64]:
        return self.slot[self.slot >= 0]


class DecisionTable:
    """The slots of all clients of one policy."""

    def __init__(self, *, recurrent: bool) -> None:
        self.recurrent = recurrent
        self._number = np.full(0, NEVER, np.int64)
        self._answers: dict[str, NDArray[Any]] = {  # Any: columns of several types
            "action": np.zeros(0, np.int32),
            "logp": np.zeros(0, np.float32),
            "value": np.zeros(0, np.float32),
            "version": np.zeros(0, np.int64),
        }
        self._free: list[int] = []
        self.used = 0  # slots that belong to a row

    def __len__(self) -> int:
        return len(self._number)

    def locate(self, client: ClientRows, ask: Ask) -> Places:
        """Return the slots of the rows of an ASK, [n]. New rows get a free slot. Raises RefusedRows."""
        row = ask.row.astype(np.int64)
        if len(row) == 0:
            raise RefusedRows(Code.BAD_ROWS, "an ASK without rows; send at least one")
        highest = int(row.max())
        if highest >= limits.CLIENT_ROWS:
            raise RefusedRows(
                Code.BAD_ROWS, f"row {highest:,} is too high; rows are numbered from 0 to {limits.CLIENT_ROWS - 1:,}"
            )
        if len(set(row.tolist())) != len(row):
            raise RefusedRows(Code.BAD_ROWS, "the same row came twice in one ASK")
        if highest >= len(client.slot):
            larger = np.full(max(highest + 1, 2 * len(client.slot)), -1, np.int64)
            larger[: len(client.slot)] = client.slot
            client.slot = larger
        missing = row[client.slot[row] < 0]
        if len(missing):
            client.slot[missing] = self._take(len(missing))
        return client.slot[row]

    def answered(self, slots: Places, ask: Ask) -> NDArray[np.bool_]:
        """Return a mask [n] of the rows whose decision was answered before: they get the same answer. Raises
        RefusedRows for decisions that must not be computed."""
        last, number = self._number[slots], ask.number.astype(np.int64)
        again: NDArray[np.bool_] = number == last
        older = np.flatnonzero(number < last)
        if len(older):
            at = int(older[0])
            raise RefusedRows(
                Code.OLD_DECISION,
                f"row {int(ask.row[at])}: decision {int(number[at])} came after decision {int(last[at])}; only the "
                "latest answer is kept",
            )
        if self.recurrent:
            gap = np.flatnonzero(~again & (ask.opens == 0) & ((last == NEVER) | (number != last + 1)))
            if len(gap):
                at = int(gap[0])
                latest = "none of its decisions is" if last[at] == NEVER else f"decision {int(last[at])} is the latest"
                raise RefusedRows(
                    Code.LOST_STATE,
                    f"row {int(ask.row[at])}: decision {int(number[at])} needs the hidden state of the one before, and "
                    f"{latest} known here; send the match's earlier decisions again, or open a match",
                    ask.row[gap].tolist()[:MOST_NAMED],
                )
        return again

    def keep(self, slots: Places, number: NDArray[np.uint32], answers: CachedAnswers) -> None:
        """Remember the answers [n] of these slots."""
        self._number[slots] = number
        for name, column in self._answers.items():
            column[slots] = getattr(answers, name)

    def recall(self, slots: Places) -> dict[str, NDArray[Any]]:  # Any: columns of several types
        """Return the latest answers of these slots by column."""
        return {name: column[slots] for name, column in self._answers.items()}

    def release(self, client: ClientRows) -> None:
        """Free all slots of a client."""
        slots = client.slots
        self._number[slots] = NEVER
        self._free += slots.tolist()
        self.used -= len(slots)
        client.slot = np.full(0, -1, np.int64)

    def _take(self, count: int) -> list[int]:
        if self.used + count > limits.SERVED_ROWS:
            raise RefusedRows(
                Code.BUSY, f"{self.used:,} rows are in use, allowed are {limits.SERVED_ROWS:,}; start another server"
            )
        if count > len(self._free):
            self._grow(count - len(self._free))
        free_slots = self._free[len(self._free) - count :]
        del self._free[len(self._free) - count :]
        self.used += count
        return free_slots

    def _grow(self, least: int) -> None:
        before, after = len(self._number), max(len(self._number) + least, 2 * len(self._number), 64)
        number = np.full(after, NEVER, np.int64)
        number[:before] = self._number
        self._number = number
        for name, column in self._answers.items():
            larger = np.zeros(after, column.dtype)
            larger[:before] = column
            self._answers[name] = larger
        self._free += range(after - 1, before - 1, -1)
