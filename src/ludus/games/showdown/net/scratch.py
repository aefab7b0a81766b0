"""Buffers that numpy and torch share, reused from call to call."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEAST_ROWS = 64


class Twin(NamedTuple):
    """One piece of memory, seen by both."""

    array: NDArray[np.float32]
    tensor: Tensor


class Scratch:
    """Named pieces of floats, each large enough for as many rows as were ever asked for, to the next power of two."""

    def __init__(self) -> None:
        self._pieces: dict[str, Tensor] = {}

    def of(self, name: str, rows: int, *shape: int) -> Twin:
        """Zeros at first, then what was last written; `shape` has the rows as one of its axes."""
        size = prod(shape)
        piece = self._pieces.get(name)
        if piece is None or len(piece) < size:
            capacity = max(LEAST_ROWS, 1 << (rows - 1).bit_length())
            piece = self._pieces[name] = torch.zeros(size // rows * capacity)
        tensor = piece[:size].view(shape)
        return Twin(tensor.numpy(), tensor)
