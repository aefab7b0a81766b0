"""Rows of a table summed by ids, with a gradient that is as cheap as the sum itself.

What torch's `embedding_bag` does for a gradient takes 25 times as long as its sum. But the gradient of a table's row
is the sum of the gradients of the bags that name it: a bag again, over the ids in sorted order.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import embedding_bag


def sum_rows(table: Tensor, ids: Tensor) -> Tensor:
    """The sum [n, D] of the rows of a table [names, D] that ids [n, k], int32 or int64, name."""
    if torch.is_grad_enabled():
        return cast(Tensor, _Sum.apply(table, ids))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return embedding_bag(ids, table, mode="sum")


def sum_rows_gradient(ids: Tensor, gradient: Tensor, names: int) -> Tensor:
    """That of the table [names, D], given that of the sums [n, D]."""
    short = torch.int16 if names < 2**15 else torch.int32  # what is sorted: fewer bytes, fewer passes
    flat_ids = ids.flatten()
    place = flat_ids.to(short).sort(stable=True)[1]
    times = torch.bincount(flat_ids, minlength=names)
    first = times.cumsum(0) - times
    bag = divide_floor_(place, ids.shape[1])
    return embedding_bag(bag, gradient.contiguous(), first, mode="sum")


def divide_floor_(numbers: Tensor, divisor: int) -> Tensor:
    """Of int64 from 0 up to 2**31 / divisor, in place: a product and a shift, a third of the time of a division."""
    return numbers.mul_(-(-(2**32) // divisor)).bitwise_right_shift_(32)


class _Sum(Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:  # Any: torch's own
        ctx.save_for_backward(ids)
        ctx.names = len(table)
        return embedding_bag(ids, table, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # Any: torch's own
        (ids,) = ctx.saved_tensors
        return sum_rows_gradient(ids, gradients[0], ctx.names), None
