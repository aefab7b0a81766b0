"""Records the actions that each row has chosen in its current match. Pure. It is updated with every send."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROOM = 64  # initial capacity in actions per row; doubled when a match is longer


class Transcript:
    """The actions of all rows of one host, since their matches began."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._choice = np.zeros(ROOM * rows, np.int32)  # [choices, rows], flat: one index is cheaper than two
        self._first = np.arange(rows)  # where the first choice of each row goes
        self._at = self._first.copy()  # where its next one goes

    def note(self, row: NDArray[np.intp], action: NDArray[np.int32]) -> None:
        """Record one action for each of these rows. A row must not occur twice."""
        at = self._at[row]
        try:
            self._choice[at] = action
        except IndexError:
            self._choice = np.concatenate((self._choice, np.zeros_like(self._choice)))
            self._choice[at] = action
        self._at[row] = at + self._rows

    def forget(self, rows: slice) -> None:
        """Delete the actions of these rows, when their match is over."""
        self._at[rows] = self._first[rows]

    def actions(self, row: int) -> NDArray[np.int32]:
        """Return a copy of the actions of one row."""
        return self._choice[row : self._at[row] : self._rows].copy()

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (the number of actions of each row, all actions row after row)."""
        count = (self._at // self._rows).astype(np.int32)
        by_row = self._choice.reshape(-1, self._rows).T
        return count, by_row[np.arange(by_row.shape[1]) < count[:, None]]
