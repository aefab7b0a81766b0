"""Rows on their way to a CUDA device: from page-locked memory, while the next ones are being written."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.gpu.transfer import TransferBuffer, leaves
from ludus.spec import GameSpec

BLOCKS = 2  # one is written while the other goes over


class PinnedStaging:
    """As policies.staging.Staging, for at most `rows` at a time. One copy a call; what it returns are views there.

    They are overwritten by a later call, but only after what was queued on them before.
    """

    def __init__(self, spec: GameSpec, device: torch.device, rows: int) -> None:
        self._spec = spec
        fields = {"obs": ("uint8", (rows, spec.obs.nbytes)), "legal": ("bool", (rows, spec.actions))}
        self._blocks = [TransferBuffer(fields, device) for _ in range(BLOCKS)]
        self._copies = [_event(device) for _ in range(BLOCKS)]
        self._turn = 0

    def put(self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> tuple[dict[str, Tensor], Tensor]:
        """Rows [n, nbytes] and masks [n, A]."""
        rows, self._turn = len(obs), (self._turn + 1) % BLOCKS
        block, copy = self._blocks[self._turn], self._copies[self._turn]
        if copy is not None:
            copy.synchronize()  # what was in it has gone
        block.arrays["obs"][:rows] = obs
        block.arrays["legal"][:rows] = legal
        block.send()
        if copy is not None:
            copy.record()
        return leaves(self._spec.obs, block.tensors["obs"][:rows]), block.tensors["legal"][:rows]


def _event(device: torch.device) -> torch.cuda.Event | None:
    """None where copies are done when they are asked for."""
    return torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]  # torch's own
