from __future__ import annotations

import pytest
import torch

from ludus.policies.post_processing import post_process


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0.02, 0.49, 0.49], [0.0, 0.5, 0.5]),
        ([0.5, 0.3, 0.2], [0.5, 0.3125, 0.1875]),  # 16, 10 and the 6 left of 32
        ([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
    ],
)
def test_post_processing_drops_the_unlikely_and_rounds(before: list[float], after: list[float]) -> None:
    found = post_process(torch.tensor([before]), threshold=0.03, discretisation=32)
    assert found[0].tolist() == pytest.approx(after)


def test_post_processing_keeps_all_where_none_is_likely_enough_and_does_nothing_at_zero() -> None:
    even = torch.full((1, 50), 0.02)
    assert torch.allclose(post_process(even, threshold=0.03, discretisation=0), even)
    odd = torch.tensor([[0.001, 0.999]])
    assert torch.equal(post_process(odd, threshold=0.0, discretisation=0), odd)


def test_post_processed_policies_are_policies() -> None:
    random = torch.rand(500, 9, generator=torch.Generator().manual_seed(1)).pow(3)
    found = post_process(random / random.sum(1, keepdim=True), threshold=0.05, discretisation=16)
    assert torch.allclose(found.sum(1), torch.ones(500))
    assert torch.allclose(found * 16, (found * 16).round())
    assert bool((found >= 0).all())
