"""Rows on their way to a device and back: named arrays over one block of bytes, so that each way is one copy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.spec import ObsSpec

ALIGNMENT = 256  # bytes: reads of a device are widest from there
DTYPES = {
    "uint8": torch.uint8,
    "int8": torch.int8,
    "uint16": torch.uint16,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float32": torch.float32,
    "bool": torch.bool,
}

Fields = Mapping[str, tuple[str, tuple[int, ...]]]  # by name: dtype and shape


class Block:
    """The same fields twice: `arrays` here, in memory that a device can read by itself, and `tensors` there."""

    def __init__(self, fields: Fields, device: torch.device) -> None:
        places, size = {}, 0
        for name, (dtype, shape) in fields.items():
            places[name] = size
            size += (prod(shape) * np.dtype(dtype).itemsize + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self._here = torch.zeros(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._there = torch.zeros(size, dtype=torch.uint8, device=device)
        self.arrays: dict[str, NDArray[Any]] = {}  # Any: fields of several types
        self.tensors: dict[str, Tensor] = {}
        for name, (dtype, shape) in fields.items():
            end = places[name] + prod(shape) * np.dtype(dtype).itemsize
            self.arrays[name] = self._here[places[name] : end].numpy().view(dtype).reshape(shape)
            self.tensors[name] = self._there[places[name] : end].view(DTYPES[dtype]).view(shape)

    def send(self) -> None:
        """Queue the copy from here to there."""
        self._there.copy_(self._here, non_blocking=True)

    def fetch(self) -> None:
        """Queue the copy from there to here."""
        self._here.copy_(self._there, non_blocking=True)


def leaves(obs: ObsSpec, rows: Tensor) -> dict[str, Tensor]:
    """The leaves of packed rows [n, nbytes] as views [n, *shape]."""
    return {
        leaf.name: rows[:, leaf.offset : leaf.offset + leaf.nbytes]
        .view(DTYPES[leaf.dtype])
        .view(len(rows), *leaf.shape)
        for leaf in obs.leaves
    }
