"""`Chooser`, the interface of a net's second implementation for small batches on the CPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.policies.nets.recurrence import Recall


class Chooser(Protocol):
    """Chooses the same actions as a net's `forward`, with the weights that the net had at the last `refresh`."""

    draws: int  # uniform random numbers needed to sample one row

    def refresh(self) -> None:
        """Copy the net's current weights."""
        ...

    def takes(self, legal: NDArray[np.bool_]) -> bool:
        """Return whether `choose` supports rows with these legal actions [n, A]. If not, PyTorch runs the net."""
        ...

    def choose(
        self,
        obs: NDArray[np.uint8],
        legal: NDArray[np.bool_],
        uniform: NDArray[np.float32] | None,
        recall: Recall | None = None,
    ) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.float32], NDArray[np.float32]]:
        """Return actions, their log-probabilities and values, [n] each, for packed rows [n, nbytes].

        uniform: random numbers [draws, n], used as `Distribution.draw` uses them; None: take the most probable action.
        recall: adds the hidden states of a recurrent net.
        """
        ...
