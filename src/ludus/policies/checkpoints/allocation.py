"""Limits for what a checkpoint may describe, checked before memory is taken for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ludus.errors import CheckpointError

STATE_BYTES = 2**26
SEATS = 1024
ACTIONS = 2**20
LEAVES = 4096
AXES = 16
ROW_BYTES = 2**24
VERSIONS = 10**12
POOL = 10_000
ITEM_BYTES = 4  # of the largest dtype of an observation
BUFFERS = 2**24  # elements that a net may create beside its parameters
SIZED = (torch.empty, torch.zeros, torch.ones)  # called with the sizes of the axes


def check_game(seats: int, actions: int, leaves: Sequence[tuple[str, str, Sequence[int]]]) -> None:
    """Raise CheckpointError if a game has more seats, actions or bytes of observation than any real one."""
    for what, number, most in (("seats", seats, SEATS), ("actions", actions, ACTIONS), ("leaves", len(leaves), LEAVES)):
        if not (0 if what == "leaves" else 1) <= number <= most:
            raise CheckpointError(f"its game has {number:,} {what}, expected at most {most:,}")
    row_bytes = 0
    for name, _, shape in leaves:
        if len(shape) > AXES or any(not 0 <= size <= ROW_BYTES for size in shape):
            raise CheckpointError(f"leaf {name[:80]!r} of its game has shape {shape[:AXES]}")
        row_bytes += ITEM_BYTES * prod(shape)
    if row_bytes > ROW_BYTES:
        raise CheckpointError(f"an observation of its game has {row_bytes:,} bytes, expected at most {ROW_BYTES:,}")


class AllocationLimit(TorchFunctionMode):
    """While entered, torch refuses to create more elements than a limit: MemoryError before memory is taken.

    A configuration of a stranger may ask for layers that are a million wide. The net must have the tensors of its model
    file, so that is how much building it may take.
    """

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._remaining = elements

    @classmethod
    def of(cls, tensors: Iterable[Tensor]) -> AllocationLimit:
        """Allow twice what these hold, and some small buffers that are in no file."""
        return cls(2 * sum(tensor.numel() for tensor in tensors) + BUFFERS)

    def __torch_function__(
        self,
        func: Callable[..., Any],  # Any: as torch calls it
        types: object,
        args: tuple[Any, ...] = (),  # Any: as torch calls it
        kwargs: dict[str, Any] | None = None,  # Any: as torch calls it
    ) -> Any:  # Any: what torch returns
        if func in SIZED:
            sizes = args[0] if args and not isinstance(args[0], int) else args
            elements = prod(sizes)
        elif func is torch.arange:
            elements = max((abs(bound) for bound in args if isinstance(bound, int)), default=0)
        else:
            elements = 0
        self._remaining -= elements
        if self._remaining < 0:
            raise MemoryError(f"a tensor of {elements:,} elements is more than the model file accounts for")
        return func(*args, **(kwargs or {}))
