"""What a policy remembers of each row: one state a row, beside the policy and on its device, zero before a match."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.nets.recurrence import Core


class RowStates:
    """Rows are known by their number; there is room for as many as were ever asked for."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._states = torch.zeros(0, core.size, device=core.out.weight.device)

    @property
    def size(self) -> int:
        """Floats of a row's state."""
        return self._core.size

    @property
    def table(self) -> Tensor:
        """All states [rows + 1, size]; another piece of memory once there is room for more rows. The last is spare: no
        row's, for whoever has to write somewhere."""
        return self._states

    def reserve(self, rows: int) -> None:
        """Make room for at least as many."""
        before = self._states
        if rows < len(before):
            return
        with torch.inference_mode(False):  # else it could not be changed outside of that mode
            self._states = before.new_zeros(max(rows + 1, 2 * len(before)), self._core.size)
            self._states[: max(len(before) - 1, 0)] = before[:-1]

    def recall(self, row: NDArray[np.integer[Any]], opens: NDArray[np.bool_]) -> Recalled:
        """Of rows that decide now; those that open a match begin anew."""
        return self.recall_at(self._places(row), torch.from_numpy(opens).to(self._states.device))

    def recall_at(self, at: Tensor, opens: Tensor) -> Recalled:
        """The same, of rows [n] that are known to have room."""
        return Recalled(self._core, at, self._states[at].masked_fill(opens[:, None], 0.0))

    def keep(self, recalled: Recalled) -> None:
        """What the rows remember after that decision."""
        self._states[recalled.at] = recalled.after

    def forget(self, row: NDArray[np.integer[Any]]) -> None:
        """Of matches that ended."""
        at = self._places(row)
        self._states[at] = 0.0

    def take(self, row: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """A copy of what these rows remember [n, size]."""
        at = self._places(row)
        return self._states[at].cpu().numpy()

    def put(self, row: NDArray[np.integer[Any]], states: NDArray[np.float32]) -> None:
        """Go on with what `take` gave. Raises ValueError when it is of another core."""
        if states.shape != (len(row), self._core.size):
            raise ValueError(f"states of {states.shape} were kept, {len(row)} rows of {self._core.size} floats play")
        at = self._places(row)
        self._states[at] = torch.from_numpy(states).to(self._states.device)

    def _places(self, row: NDArray[np.integer[Any]]) -> Tensor:
        self.reserve(int(row.max()) + 1 if len(row) else 0)
        return torch.from_numpy(row.astype(np.int64)).to(self._states.device)


class Recalled:
    """The states of some rows on their way through one forward: `before` it, and `after` once it was made."""

    def __init__(self, core: Core, at: Tensor, before: Tensor) -> None:
        self._core = core
        self.at, self.before = at, before
        self.after = before

    def __call__(self, context: Tensor) -> Tensor:
        context, self.after = self._core.step(context, self.before)
        return context
