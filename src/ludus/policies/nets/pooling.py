"""What a group of entities comes to, whatever their order. Axes: B rows, N entities, D width."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function


def pool(group: Tensor, first: int) -> Tensor:
    """Of a group [B, N, D] the first ones as they are, then the mean and the maximum of the rest [B, (first + 2) D].

    Its gradient is written once, where that of slices, a mean and a maximum is three sums over the whole group.
    """
    if torch.is_grad_enabled():
        return cast(Tensor, _Pool.apply(group, first))  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return _pooled(group, first)


def _pooled(group: Tensor, first: int) -> Tensor:
    B, _, D = group.shape
    rest = group[:, first:]
    return torch.cat((group[:, :first].reshape(B, first * D), rest.mean(1), rest.amax(1)), dim=1)


class _Pool(Function):
    @staticmethod
    def forward(ctx: Any, group: Tensor, first: int) -> Tensor:  # Any: torch's own
        pooled = _pooled(group, first)
        ctx.save_for_backward(group, pooled)
        ctx.first = first
        return pooled

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # Any: torch's own
        group, pooled = ctx.saved_tensors
        first, (B, N, D) = ctx.first, group.shape
        most = pooled[:, None, (first + 1) * D :]
        alone, mean, maximum = torch.split(gradients[0], [first * D, D, D], dim=1)
        result = torch.empty_like(group)
        result[:, :first] = alone.view(B, first, D)
        rest = result[:, first:]
        rest.copy_(group[:, first:] == most)  # equal ones share the gradient of their maximum
        rest.mul_((maximum / rest.sum(1))[:, None]).add_((mean / (N - first))[:, None])
        return result, None
