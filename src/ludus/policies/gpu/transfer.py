"""Transfer buffers between host and CUDA device: named arrays in one block of bytes, so that a transfer is one copy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.spec import ObsSpec

ALIGNMENT = 256  # bytes; a device reads aligned arrays fastest
LARGEST_PULL = 2 << 20  # bytes; larger buffers are faster to copy than to read with a kernel
DTYPES = {
    "uint8": torch.uint8,
    "int8": torch.int8,
    "uint16": torch.uint16,
    "int16": torch.int16,
    "fixed8": torch.int8,
    "fixed16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float32": torch.float32,
    "bool": torch.bool,
}

Fields = Mapping[str, tuple[str, tuple[int, ...]]]  # dtype and shape of each field, by name


class TransferBuffer:
    """Holds the same fields in host memory and on the device. `send` and `fetch` copy between the two.

    `arrays` are the fields in page-locked host memory, `tensors` the fields in device memory. `mapped` are device
    tensors over the page-locked host memory: a kernel that uses them reads and writes `arrays` without a copy.
    """

    def __init__(self, fields: Fields, device: torch.device) -> None:
        places, size = {}, 0
        for name, (dtype, shape) in fields.items():
            places[name] = size
            size += (prod(shape) * np.dtype(dtype).itemsize + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self._here = torch.zeros(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._there = torch.zeros(size, dtype=torch.uint8, device=device)
        self._mapped_host = _mapped(self._here, device) if device.type == "cuda" else self._here
        self.arrays: dict[str, NDArray[Any]] = {}  # Any: fields of several types
        self.tensors: dict[str, Tensor] = {}
        self.mapped: dict[str, Tensor] = {}
        for name, (dtype, shape) in fields.items():
            end = places[name] + prod(shape) * np.dtype(dtype).itemsize
            self.arrays[name] = self._here[places[name] : end].numpy().view(dtype).reshape(shape)
            for memory, fields_of in ((self._there, self.tensors), (self._mapped_host, self.mapped)):
                fields_of[name] = memory[places[name] : end].view(DTYPES[dtype]).view(shape)

    def send(self) -> None:
        """Queue a copy of all fields from the host to the device."""
        self._there.copy_(self._here, non_blocking=True)

    def fetch(self) -> None:
        """Queue a copy of all fields from the device to the host."""
        self._here.copy_(self._there, non_blocking=True)

    def pull(self) -> None:
        """Do the same as `send`. Small buffers are read by a kernel, which starts sooner than a copy but reads
        slower."""
        if self._here.nbytes > LARGEST_PULL:
            self.send()
            return
        torch.add(self._mapped_host.view(torch.int32), 0, out=self._there.view(torch.int32))

    def push(self) -> None:
        """Do the same as `fetch`, with a kernel that writes to host memory."""
        torch.add(self._there.view(torch.int32), 0, out=self._mapped_host.view(torch.int32))


class _Interface:
    """Describes page-locked host memory to PyTorch as CUDA memory."""

    def __init__(self, tensor: Tensor) -> None:
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": "|u1",
            "data": (tensor.data_ptr(), False),
            "version": 3,
        }


def _mapped(here: Tensor, device: torch.device) -> Tensor:
    """Return page-locked bytes as a tensor of the device. Both use the same memory, so keep `here` alive."""
    return torch.as_tensor(_Interface(here), device=device)


def leaves(obs: ObsSpec, rows: Tensor) -> dict[str, Tensor]:
    """Return the leaves of packed rows [n, nbytes] as views [n, *shape], by name."""
    return {
        leaf.name: rows[:, leaf.offset : leaf.offset + leaf.nbytes]
        .view(DTYPES[leaf.dtype])
        .view(len(rows), *leaf.shape)
        for leaf in obs.leaves
    }
