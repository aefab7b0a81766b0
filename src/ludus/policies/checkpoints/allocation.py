"""Limits on the sizes that a checkpoint may declare, checked before memory is allocated. Checkpoints may come from
strangers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ludus.errors import CheckpointError

STATE_BYTES = 2**26  # of state.json
SEATS = 1024
ACTIONS = 2**20
LEAVES = 4096
AXES = 16
ROW_BYTES = 2**24  # of one observation
VERSIONS = 10**12
POOL = 10_000  # past selves
ITEM_BYTES = 4  # size of the largest dtype of an observation
BUFFERS = 2**24  # elements that a net may allocate besides its parameters
SIZED = (torch.empty, torch.zeros, torch.ones)  # functions whose arguments are the sizes of the axes


def check_game(seats: int, actions: int, leaves: Sequence[tuple[str, str, Sequence[int]]]) -> None:
    """Raise CheckpointError if a game has more seats, actions, leaves or bytes per observation than any real game."""
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
    """A context in which PyTorch raises MemoryError before it allocates more than `elements` tensor elements in all.

    A checkpoint from a stranger may declare layers that are a million units wide. Its net must have the tensors of the
    model file, so the size of these tensors limits what building the net may allocate.
    """

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._remaining = elements

    @classmethod
    def of(cls, tensors: Iterable[Tensor]) -> AllocationLimit:
        """Return a limit of twice the elements of these tensors, plus BUFFERS elements that are in no file."""
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
            raise MemoryError(f"a tensor of {elements:,} elements is larger than the model file accounts for")
        return func(*args, **(kwargs or {}))
