from __future__ import annotations

import pytest
import torch

from ludus.games.showdown.net.pooling import pool, pool_gradient


@pytest.mark.parametrize("first", [1, 2])
def test_pool_and_its_gradient_are_those_of_its_parts(first: int) -> None:
    drawn = torch.Generator().manual_seed(0)
    group = torch.randn(5, 6, 3, generator=drawn).relu()
    group[:, 4] = group[:, 5]  # equal ones share a maximum
    group.requires_grad_()
    rest = group[:, first:]
    plain = torch.cat((group[:, :first].flatten(1), rest.mean(1), rest.amax(1)), dim=1)
    weight = torch.randn(plain.shape, generator=drawn)
    ours = pool(group, first)
    torch.testing.assert_close(ours, plain)
    gradient = pool_gradient(group.detach(), ours.detach(), first, weight)
    (expected,) = torch.autograd.grad((plain * weight).sum(), group)
    torch.testing.assert_close(gradient, expected)
