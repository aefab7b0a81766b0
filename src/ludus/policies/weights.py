"""Weights on their way: one flat vector for the optimiser and the shared memory, named tensors for files."""

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

ALIGNMENT = 16  # floats: every parameter starts on a cache line


class FlatWeights:
    """Makes a net's parameters views of one vector: a whole copy, norm or optimiser step is one operation."""

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
        """Views of a vector like this one, by the names of the parameters."""
        return {name: vector[at : at + shape.numel()].view(shape) for name, (at, shape) in self._places.items()}

    def join(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """The vector whose `split` is this."""
        vector = torch.zeros_like(self.vector)
        for name, view in self.split(vector).items():
            view.copy_(tensors[name])
        return vector

    def numpy(self) -> NDArray[np.float32]:
        """On the CPU a view, elsewhere a copy."""
        flat: NDArray[np.float32] = self.vector.detach().cpu().numpy()
        return flat

    def load(self, vector: NDArray[np.float32]) -> None:
        with torch.no_grad():
            self.vector.copy_(torch.from_numpy(vector))


class WeightsBoard:
    """The newest weights in shared memory: one writer, any number of readers, nobody waits.

    Layout: sequence, version, checksum (int64 each, one cache line), then the float32 vector. The sequence is odd
    while the writer is at work; the checksum catches what a weakly ordered machine may show in another order.
    """

    HEADER = 64

    def __init__(self, buffer: memoryview) -> None:
        self._head = np.frombuffer(buffer, np.int64, 3)
        self._vector = np.frombuffer(buffer, np.float32, offset=self.HEADER)

    @classmethod
    def nbytes(cls, floats: int) -> int:
        return cls.HEADER + 4 * floats

    @property
    def version(self) -> int:
        return int(self._head[1])

    def publish(self, vector: NDArray[np.float32], version: int) -> None:
        self._head[0] += 1
        self._vector[:] = vector
        self._head[2] = zlib.crc32(self._vector.data)
        self._head[1] = version
        self._head[0] += 1

    def read(self) -> tuple[NDArray[np.float32], int] | None:
        """A copy of the weights and their version; None while they are being written: take the next chance."""
        before = int(self._head[0])
        if before % 2:
            return None
        version, checksum = int(self._head[1]), int(self._head[2])
        vector = self._vector.copy()
        if int(self._head[0]) != before or zlib.crc32(vector.data) != checksum:
            return None
        return vector, version


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> FileSum:
    """Write a safetensors file that is on the disk when this returns. Returns its checksum. Raises OSError."""
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    files.write(path, data, durable=True)
    return checksums.of_bytes(data)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, verified where its folder has checksums. Raises CheckpointError."""
    data = checksums.read(path)
    with reading(path):
        return load(data)
