"""The hidden states of a recurrent policy: one per row, on the policy's device, zero at the start of a match."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.nets.recurrence import Core


class RowStates:
    """A table of hidden states by row number. It grows to the highest row number in use."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._states = torch.zeros(0, core.size, device=core.out.weight.device)

    @property
    def size(self) -> int:
        """The number of floats in a row's hidden state."""
        return self._core.size

    @property
    def table(self) -> Tensor:
        """All hidden states [rows + 1, size]. `reserve` may replace the tensor. The last entry belongs to no row:
        padded batches write to it."""
        return self._states

    def reserve(self, rows: int) -> None:
        """Grow the table to at least `rows` rows. This replaces the tensor `table`."""
        before = self._states
        if rows < len(before):
            return
        with torch.inference_mode(False):  # tensors made in inference mode cannot be changed outside of it
            self._states = before.new_zeros(max(rows + 1, 2 * len(before)), self._core.size)
            self._states[: max(len(before) - 1, 0)] = before[:-1]

    def recall(self, row: NDArray[np.integer[Any]], opens: NDArray[np.bool_]) -> Recalled:
        """Return the hidden states before a decision of these rows [n]; zeros where `opens` [n] is True, that is, for
        the first decision of a match."""
        return self.recall_at(self._places(row), torch.from_numpy(opens).to(self._states.device))

    def recall_at(self, at: Tensor, opens: Tensor) -> Recalled:
        """Like `recall`, for row numbers and `opens` that are tensors [n] on the device. All rows must be within the
        table."""
        return Recalled(self._core, at, self._states[at].masked_fill(opens[:, None], 0.0))

    def keep(self, recalled: Recalled) -> None:
        """Store the hidden states after the forward pass."""
        self._states[recalled.at] = recalled.after

    def forget(self, row: NDArray[np.integer[Any]]) -> None:
        """Reset the hidden states of these rows to zero, because their matches ended."""
        at = self._places(row)
        self._states[at] = 0.0

    def take(self, row: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return a copy of the hidden states of these rows [n, size]."""
        at = self._places(row)
        return self._states[at].cpu().numpy()

    def put(self, row: NDArray[np.integer[Any]], states: NDArray[np.float32]) -> None:
        """Set hidden states that `take` returned. Raises ValueError if their shape does not fit."""
        if states.shape != (len(row), self._core.size):
            raise ValueError(f"hidden states have shape {states.shape}, expected {(len(row), self._core.size)}")
        at = self._places(row)
        self._states[at] = torch.from_numpy(states).to(self._states.device)

    def _places(self, row: NDArray[np.integer[Any]]) -> Tensor:
        """Return row numbers as a tensor on the device, after growing the table to hold them."""
        self.reserve(int(row.max()) + 1 if len(row) else 0)
        return torch.from_numpy(row.astype(np.int64)).to(self._states.device)


class Recalled:
    """The hidden states of n rows in one forward pass: `before` it and `after` it, both [n, size]. The net calls this
    object as its `Recall`, which sets `after`."""

    def __init__(self, core: Core, at: Tensor, before: Tensor) -> None:
        self._core = core
        self.at, self.before = at, before
        self.after = before

    def __call__(self, context: Tensor) -> Tensor:
        context, self.after = self._core.step(context, self.before)
        return context
