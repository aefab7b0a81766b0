"""Copies rows to a CUDA device from page-locked (pinned) memory, with double buffering."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.gpu.transfer import TransferBuffer, leaves
from ludus.spec import GameSpec

BLOCKS = 2  # one is filled while the other is copied


class PinnedStaging:
    """Like `policies.staging.Staging`, for at most `rows` rows per call, which are sent in one asynchronous copy.

    The tensors that `put` returns are views of a device buffer that the next call but one overwrites. The overwriting
    copy is queued on the same CUDA stream, so kernels that were queued before it still read the old rows.
    """

    def __init__(self, spec: GameSpec, device: torch.device, rows: int) -> None:
        self._spec = spec
        fields = {"obs": ("uint8", (rows, spec.obs.nbytes)), "legal": ("bool", (rows, spec.actions))}
        self._blocks = [TransferBuffer(fields, device) for _ in range(BLOCKS)]
        self._copies = [_event(device) for _ in range(BLOCKS)]
        self._turn = 0

    def put(self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> tuple[dict[str, Tensor], Tensor]:
        """Send rows [n, nbytes] and masks [n, A]. Returns the leaves by name, and the masks, on the device."""
        rows, self._turn = len(obs), (self._turn + 1) % BLOCKS
        block, copy = self._blocks[self._turn], self._copies[self._turn]
        if copy is not None:
            copy.synchronize()  # the previous copy out of this block is complete
        block.arrays["obs"][:rows] = obs
        block.arrays["legal"][:rows] = legal
        block.send()
        if copy is not None:
            copy.record()
        return leaves(self._spec.obs, block.tensors["obs"][:rows]), block.tensors["legal"][:rows]


def _event(device: torch.device) -> torch.cuda.Event | None:
    """Return a CUDA event, or None for other devices, where copies are synchronous."""
    return torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]  # torch's own
