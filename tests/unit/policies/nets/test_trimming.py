"""Lists are shortened to what a batch needs. The twin is the same net without it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.unit.policies.nets.test_entities import net_of, shown
from tests.unit.policies.nets.test_lists import LAYOUT, SPEC
from torch import Tensor

from ludus.policies.distributions import Categorical


def short(obs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return observations whose later cards and options are empty in every row, but card 3 is referred to."""
    short = {name: leaf.clone() for name, leaf in obs.items()}
    for name in ("name", "power", "attacks"):
        short[name][:, 2:] = 0
    for name in short:
        if name.startswith("option"):
            short[name][:, 3:] = 0
    return short


def legal_of(rows: int) -> Tensor:
    legal = torch.zeros(rows, 5, dtype=torch.bool)
    legal[:, :3] = True
    return legal


@pytest.mark.parametrize("layout", [LAYOUT, {}, {"grids": ["map"]}])
def test_outputs_and_gradients_are_those_of_the_whole_lists(layout: dict[str, object]) -> None:
    net, obs = net_of(replace(SPEC, layout=layout)), short(shown())
    legal = legal_of(len(obs["name"]))
    outputs = []
    for trims in (True, False):
        if not trims:
            net.trim = lambda inputs, legal: dict(inputs)  # type: ignore[assignment]  # the twin
        net.zero_grad()
        dist, value = net(obs, legal)
        assert isinstance(dist, Categorical)
        torch.autograd.backward(dist.log_probs[:, 0].sum() + value.sum())
        outputs.append([dist.log_probs.detach(), value.detach(), net.get_parameter("state_in.weight").grad])
    for one, other in zip(*outputs, strict=True):
        torch.testing.assert_close(one, other)


def test_lists_end_with_the_last_entity_that_a_row_knows_or_refers_to() -> None:
    net, obs = net_of(), short(shown())
    legal = legal_of(len(obs["name"]))
    obs["option_card"].zero_()
    obs["attacks"].zero_()
    inputs = net.prepare(obs, legal)
    assert net.trim(inputs, legal)["0.numbers"].shape[1] == 2
    assert net.trim(inputs, legal)["options.option_name"].shape[1] == 3
    obs["option_card"][0, 0] = 4
    assert net.trim(net.prepare(obs, legal), legal)["0.numbers"].shape[1] == 4
