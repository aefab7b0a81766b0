"""Weights of nets as one flat vector (optimiser), in shared memory (actors) and in safetensors files (checkpoints)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor, nn

from ludus import files
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.checksums import FileSum
from ludus.policies.checkpoints.read_errors import reading

ALIGNMENT = 16  # floats; every parameter starts on a cache line


class FlatWeights:
    """Makes all parameters of a net views of one vector, so that a copy, a norm or an optimiser step is one operation.

    With `gradients=True`, the gradients of all parameters are views of a second vector, `gradient`. With False,
    `requires_grad` of the parameters is off. Raises TypeError if a parameter is not float32.
    """

    def __init__(self, net: nn.Module, *, gradients: bool = False) -> None:
        self._places: dict[str, tuple[int, torch.Size]] = {}
        size = 0
        for name, parameter in net.named_parameters():
            self._places[name] = (size, parameter.shape)
            size += (parameter.numel() + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        device = next(net.parameters()).device
        self.vector = torch.zeros(size, device=device)
        self.gradient = torch.zeros(size if gradients else 0, device=device)
        for (name, parameter), view in zip(net.named_parameters(), self.split(self.vector).values(), strict=True):
            if parameter.dtype != torch.float32:
                raise TypeError(f"parameter {name} is {parameter.dtype}; flat weights are float32")
            view.copy_(parameter.detach())
            parameter.data = view
            parameter.requires_grad_(gradients)
        if gradients:
            for parameter, view in zip(net.parameters(), self.split(self.gradient).values(), strict=True):
                parameter.grad = view

    def split(self, vector: Tensor) -> dict[str, Tensor]:
        """Return views of a vector of the same layout, by the names of the parameters."""
        return {name: vector[at : at + shape.numel()].view(shape) for name, (at, shape) in self._places.items()}

    def join(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return one vector that contains these tensors; the inverse of `split`."""
        vector = torch.zeros_like(self.vector)
        for name, view in self.split(vector).items():
            view.copy_(tensors[name])
        return vector

    def numpy(self) -> NDArray[np.float32]:
        """Return the vector as an array: a view if the net is on the CPU, else a copy."""
        flat: NDArray[np.float32] = self.vector.detach().cpu().numpy()
        return flat

    def load(self, vector: NDArray[np.float32]) -> None:
        """Copy these weights into the net."""
        with torch.no_grad():
            self.vector.copy_(torch.from_numpy(vector))


class WeightsBoard:
    """The newest weights in shared memory, without locks: one process writes, any number of processes read.

    Layout: sequence, version, checksum (int64 each, padded to a cache line), then the float32 vector. The sequence is
    odd while the writer writes. The checksum detects torn reads on CPUs that reorder memory accesses.
    """

    HEADER = 64  # bytes

    def __init__(self, buffer: memoryview) -> None:
        self._head = np.frombuffer(buffer, np.int64, 3)
        self._vector = np.frombuffer(buffer, np.float32, offset=self.HEADER)

    @classmethod
    def nbytes(cls, floats: int) -> int:
        """Return the size of the shared memory for a vector of so many floats."""
        return cls.HEADER + 4 * floats

    @property
    def version(self) -> int:
        """The version of the newest weights."""
        return int(self._head[1])

    def publish(self, vector: NDArray[np.float32], version: int) -> None:
        """Write new weights. Only one process may call this."""
        self._head[0] += 1
        self._vector[:] = vector
        self._head[2] = zlib.crc32(self._vector.data)
        self._head[1] = version
        self._head[0] += 1

    def read(self) -> tuple[NDArray[np.float32], int] | None:
        """Return a copy of the weights and their version, or None if they are being written: then try again later."""
        before = int(self._head[0])
        if before % 2:
            return None
        version, checksum = int(self._head[1]), int(self._head[2])
        vector = self._vector.copy()
        if int(self._head[0]) != before or zlib.crc32(vector.data) != checksum:
            return None
        return vector, version


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> FileSum:
    """Write a safetensors file (fsynced) and return its checksum. Raises OSError."""
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    files.write(path, data, durable=True)
    return checksums.of_bytes(data)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, verified if its folder has checksums. Raises CheckpointError."""
    data = checksums.read(path)
    with reading(path):
        return load(data)
