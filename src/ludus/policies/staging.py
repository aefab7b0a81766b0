"""Turns packed observations into tensors, one per leaf, for `TorchPath`."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.spec import GameSpec


class Staging:
    """Copies packed rows into a reused buffer and returns its leaves as tensors on the device.

    On the CPU the tensors are views of the buffer: the next `put` overwrites them.
    """

    def __init__(self, spec: GameSpec, device: torch.device | None = None) -> None:
        self.spec, self.actions, self.device = spec, spec.actions, device or torch.device("cpu")
        self._grow(64)

    def put(self, obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> tuple[dict[str, Tensor], Tensor]:
        """Return packed rows [n, nbytes] as one tensor [n, *shape] per leaf, and the masks [n, A] as a tensor. The
        arrays may be read-only and unaligned."""
        rows = len(obs)
        if rows > len(self._obs):
            self._grow(rows)
        np.copyto(self._obs[:rows], obs)
        np.copyto(self._legal[:rows], legal)
        return self._first(rows)

    def _first(self, rows: int) -> tuple[dict[str, Tensor], Tensor]:
        views = self._views.get(rows)
        if views is None:
            views = {name: leaf[:rows] for name, leaf in self._leaves.items()}, self._legal_tensor[:rows]
            self._views[rows] = views
        if self.device.type == "cpu":
            return views
        obs, legal = views
        return {name: leaf.to(self.device) for name, leaf in obs.items()}, legal.to(self.device)

    def _grow(self, rows: int) -> None:
        """Make buffers for up to `rows` rows."""
        self._obs = np.zeros((rows, self.spec.obs.nbytes), np.uint8)
        self._legal = np.zeros((rows, self.actions), np.bool_)
        self._leaves = {name: torch.from_numpy(leaf) for name, leaf in self.spec.obs.view(self._obs).items()}
        self._legal_tensor = torch.from_numpy(self._legal)
        self._views: dict[int, tuple[dict[str, Tensor], Tensor]] = {}  # by rows
