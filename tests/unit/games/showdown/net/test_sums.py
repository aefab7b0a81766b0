from __future__ import annotations

import pytest
import torch
from torch.nn.functional import embedding

from ludus.games.showdown.net.sums import divide_floor_, sum_rows


@pytest.mark.parametrize("names", [7, 40_000])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_sum_and_its_gradient_are_those_of_rows_looked_up_one_by_one(names: int, dtype: torch.dtype) -> None:
    drawn = torch.Generator().manual_seed(0)
    table = torch.randn(names, 3, generator=drawn).requires_grad_()
    ids = torch.randint(0, names - 1, (50, 4), generator=drawn).to(dtype)  # nobody names the last one
    weight = torch.randn(50, 3, generator=drawn)
    ours, plain = sum_rows(table, ids), embedding(ids, table).sum(1)
    torch.testing.assert_close(ours, plain)
    (gradient,) = torch.autograd.grad((ours * weight).sum(), table)
    (expected,) = torch.autograd.grad((plain * weight).sum(), table)
    torch.testing.assert_close(gradient, expected)


def test_sum_without_gradients_is_the_same() -> None:
    table, ids = torch.randn(7, 3), torch.tensor([[0, 0], [6, 2]])
    with torch.no_grad():
        bare = sum_rows(table, ids)
    assert torch.equal(bare, sum_rows(table, ids))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 9, 11, 47])
def test_dividing_by_a_product_and_a_shift_is_exact(divisor: int) -> None:
    most = 2**31 // divisor
    numbers = torch.cat((torch.arange(10_000), torch.arange(most - 10_000, most)))
    assert torch.equal(divide_floor_(numbers.clone(), divisor), numbers // divisor)
