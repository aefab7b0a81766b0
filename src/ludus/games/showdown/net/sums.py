"""Sums of embeddings, like PyTorch's `embedding_bag`, with a much faster gradient. Used by the pointer net.

The gradient of a table row is the sum of the gradients of all bags that contain its id. It can therefore be computed
with `embedding_bag` too, over the ids in sorted order; PyTorch's own backward pass takes many times as long.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import embedding_bag


def sum_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Return the sums [n, D] of k rows each of a table [names, D], selected by ids [n, k] (int32 or int64)."""
    if torch.is_grad_enabled():
        return cast(Tensor, _Sum.apply(table, ids))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return embedding_bag(ids, table, mode="sum")


def sum_rows_gradient(ids: Tensor, gradient: Tensor, names: int) -> Tensor:
    """Return the gradient of the table [names, D], given the ids [n, k] and the gradient of the sums [n, D]."""
    if adds_atomically(gradient.device):
        rows = gradient[:, None].expand(-1, ids.shape[1], -1).flatten(0, 1)
        return gradient.new_zeros(names, gradient.shape[1]).index_add_(0, ids.flatten(), rows)
    short = torch.int16 if names < 2**15 else torch.int32  # sorting is faster with fewer bytes
    flat_ids = ids.flatten()
    place = flat_ids.to(short).sort(stable=True)[1]
    times = torch.bincount(flat_ids, minlength=names)
    first = times.cumsum(0) - times
    bag = divide_floor_(place, ids.shape[1])
    return embedding_bag(bag, gradient.contiguous(), first, mode="sum")


def adds_atomically(device: torch.device) -> bool:
    """Return True if gradients are added with atomic operations on this device. A GPU would sum a bag of thousands of
    rows in one thread, and `bincount` would wait for it, which no CUDA graph can contain."""
    return device.type == "cuda"


def divide_floor_(numbers: Tensor, divisor: int) -> Tensor:
    """Divide int64 numbers in place, rounding down, and return them. They must be from 0 up to 2**31 / divisor. A
    product and a shift are faster than a division."""
    return numbers.mul_(-(-(2**32) // divisor)).bitwise_right_shift_(32)


class _Sum(Function):
    """`sum_rows` with the gradient of `sum_rows_gradient`."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:  # Any: torch's own
        ctx.save_for_backward(ids)
        ctx.names = len(table)
        return embedding_bag(ids, table, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # Any: torch's own
        (ids,) = ctx.saved_tensors
        return sum_rows_gradient(ids, gradients[0], ctx.names), None
