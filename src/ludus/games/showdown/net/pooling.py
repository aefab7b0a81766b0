"""What a group of entities comes to, whatever their order. Axes: B rows, N entities, D width."""

from __future__ import annotations

import torch
from torch import Tensor


def pool(group: Tensor, first: int) -> Tensor:
    """Of a group [B, N, D] the first ones as they are, then the mean and the maximum of the rest [B, (first + 2) D]."""
    B, _, D = group.shape
    rest = group[:, first:]
    return torch.cat((group[:, :first].reshape(B, first * D), rest.mean(1), rest.amax(1)), dim=1)


def pool_gradient(group: Tensor, pooled: Tensor, first: int, gradient: Tensor) -> Tensor:
    """That of the group, given that of what it came to.

    It is written once, where that of slices, a mean and a maximum is three sums over the whole group.
    """
    B, N, D = group.shape
    most = pooled[:, None, (first + 1) * D :]
    alone, mean, maximum = torch.split(gradient, [first * D, D, D], dim=1)
    result = group.clone()
    rest = result[:, first:].eq_(most)  # in place it is 1.0 or 0.0 at once: booleans take three times as long
    share = maximum / rest.sum(1)  # equal ones share the gradient of their maximum
    torch.addcmul((mean / (N - first))[:, None], rest, share[:, None], out=rest)
    result[:, :first] = alone.reshape(B, first, D)
    return result
