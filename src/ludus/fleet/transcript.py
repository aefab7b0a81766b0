"""What every row chose in the match it plays now. Pure; noted with each send, so three array operations do it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROOM = 64  # choices a row at first; doubled when a match is longer


class Transcript:
    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._choice = np.zeros(ROOM * rows, np.int32)  # [choices, rows], flat: one index is cheaper than two
        self._first = np.arange(rows)  # where the first choice of each row goes
        self._at = self._first.copy()  # where its next one goes

    def note(self, row: NDArray[np.intp], action: NDArray[np.int32]) -> None:
        """These rows, each at most once, have chosen."""
        at = self._at[row]
        try:
            self._choice[at] = action
        except IndexError:
            self._choice = np.concatenate((self._choice, np.zeros_like(self._choice)))
            self._choice[at] = action
        self._at[row] = at + self._rows

    def forget(self, rows: slice) -> None:
        """The match of these rows is over."""
        self._at[rows] = self._first[rows]

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(choices of each row, all choices row after row)."""
        count = (self._at // self._rows).astype(np.int32)
        by_row = self._choice.reshape(-1, self._rows).T
        return count, by_row[np.arange(by_row.shape[1]) < count[:, None]]
