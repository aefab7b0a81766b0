"""Float buffers that numpy and PyTorch share. The chooser reuses them from call to call."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEAST_ROWS = 64  # a buffer has room for at least this many rows


class Twin(NamedTuple):
    """A numpy array and a PyTorch tensor over the same memory."""

    array: NDArray[np.float32]
    tensor: Tensor


class Scratch:
    """Float buffers by name. A buffer that is too small is replaced by one for the next power of two of rows."""

    def __init__(self) -> None:
        self._pieces: dict[str, Tensor] = {}

    def of(self, name: str, rows: int, *shape: int) -> Twin:
        """Return the buffer of this name as an array and a tensor of `shape`, whose size is a multiple of `rows`. A new
        buffer is zero; otherwise it has the numbers that were last written."""
        size = prod(shape)
        piece = self._pieces.get(name)
        if piece is None or len(piece) < size:
            capacity = max(LEAST_ROWS, 1 << (rows - 1).bit_length())
            piece = self._pieces[name] = torch.zeros(size // rows * capacity)
        tensor = piece[:size].view(shape)
        return Twin(tensor.numpy(), tensor)
