"""Pooling of a group of entities into one vector, with its gradient. Axes: B rows, N entities, D width."""

from __future__ import annotations

import torch
from torch import Tensor


def pool(group: Tensor, first: int) -> Tensor:
    """Return one vector [B, (first + 2) D] per group [B, N, D]: the first `first` entities unchanged, then the mean and
    the maximum of the other entities, whose order therefore does not matter."""
    B, _, D = group.shape
    rest = group[:, first:]
    return torch.cat((group[:, :first].reshape(B, first * D), rest.mean(1), rest.amax(1)), dim=1)


def pool_gradient(group: Tensor, pooled: Tensor, first: int, gradient: Tensor) -> Tensor:
    """Return the gradient of the group [B, N, D], given the `gradient` of `pooled` [B, (first + 2) D].

    It writes the result once; autograd would add three gradients of the size of the whole group.
    """
    B, N, D = group.shape
    most = pooled[:, None, (first + 1) * D :]
    alone, mean, maximum = torch.split(gradient, [first * D, D, D], dim=1)
    result = group.clone()
    rest = result[:, first:].eq_(most)  # in place, as floats 1.0 and 0.0, which is faster than booleans
    share = maximum / rest.sum(1)  # entities with the same maximum share its gradient
    if torch.compiler.is_compiling():  # torch.compile refuses a view as `out`
        rest.copy_(torch.addcmul((mean / (N - first))[:, None], rest, share[:, None]))
    else:
        torch.addcmul((mean / (N - first))[:, None], rest, share[:, None], out=rest)
    result[:, :first] = alone.reshape(B, first, D)
    return result
