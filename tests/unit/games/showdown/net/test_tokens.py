"""The token net on made-up observations: what must hold whatever the weights are, and that it learns relations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.unit.games.showdown.net.test_chooser import rows_of
from tests.unit.games.showdown.net.test_pointer import ROWS, observations, showdown_spec
from torch import Tensor

from ludus.config.settings import PolicyConfig, ValueConfig
from ludus.errors import ConfigError
from ludus.games.showdown.net.tokens import TokenNet
from ludus.policies.distributions import Distribution
from ludus.policies.network import NetPolicy
from ludus.policies.staging import Staging
from ludus.spec import GameSpec
from ludus.types import Arrivals

CONFIG = PolicyConfig(net="tokens", width=16, context=16, heads=2)
FORMATS = [(1, 1, 0), (1, 2, 6), (2, 2, 0), (2, 2, 90)]
STORED = {name: leaf.dtype for name, leaf in observations(showdown_spec(1, 1)).items()}
ROWS_LEARNED, UPDATES = 64, 400
FOES = slice(7, 12)  # the foe's benched Pokemon in singles


def net_of(spec: GameSpec, config: PolicyConfig = CONFIG, spread: float = 0.1) -> TokenNet:
    torch.manual_seed(0)
    net = TokenNet(spec, config)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter) * spread)
    return net


def outputs(net: TokenNet, obs: dict[str, Tensor], actions: int) -> tuple[Tensor, Tensor]:
    """Return the probabilities of all actions [rows, actions] and the values [rows]."""
    rows = len(obs["species"])
    with torch.no_grad():
        dist, value = net(obs, torch.ones(rows, actions, dtype=torch.bool))
        return every_probability(dist, rows, actions), value


def every_probability(dist: Distribution, rows: int, actions: int) -> Tensor:
    return torch.stack([dist.log_prob(torch.full((rows,), action)).exp() for action in range(actions)], dim=1)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("slots", "variants", "preview"), FORMATS)
def test_every_format_gets_one_probability_per_action(slots: int, variants: int, preview: int, full: bool) -> None:
    spec = showdown_spec(slots, variants, full=full, preview=preview)
    probabilities, value = outputs(net_of(spec), observations(spec), spec.actions)
    assert value.shape == (ROWS,)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(ROWS))


@pytest.mark.parametrize("slots", [1, 2])
def test_rows_do_not_see_each_other_and_every_leaf_matters(slots: int) -> None:
    spec = showdown_spec(slots, 2)
    net, obs = net_of(spec), observations(spec)
    whole, values = outputs(net, obs, spec.actions)
    alone, value = outputs(net, {name: leaf[2:3] for name, leaf in obs.items()}, spec.actions)
    torch.testing.assert_close(whole[2:3], alone)
    torch.testing.assert_close(values[2:3], value)
    for name in obs:
        assert not torch.allclose(whole, outputs(net, {**obs, name: obs[name].roll(1, 0)}, spec.actions)[0]), name


def test_the_order_of_the_bench_does_not_matter() -> None:
    spec = showdown_spec(1, 2)
    net, obs = net_of(spec), observations(spec)
    moved = {name: leaf.clone() for name, leaf in obs.items()}
    for name, leaf in moved.items():
        if leaf.shape[1] == 12:
            leaf[:, FOES] = obs[name][:, FOES].roll(2, 1)
    for before, after in zip(outputs(net, obs, spec.actions), outputs(net, moved, spec.actions), strict=True):
        torch.testing.assert_close(before, after)


@pytest.mark.parametrize("slots", [1, 2])
def test_gradients_reach_every_parameter(slots: int) -> None:
    spec = showdown_spec(slots, 2)
    net = net_of(spec, PolicyConfig(width=16, context=16, heads=2, value=ValueConfig(bins=11)))
    dist, value = net(observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool))
    action = torch.arange(ROWS)
    torch.autograd.backward((dist.log_prob(action) + dist.entropy(action) + value).sum())
    assert [name for name, own in net.named_parameters() if own.grad is None or not own.grad.any()] == []


@pytest.mark.parametrize("slots", [1, 2])
def test_lower_precision_changes_little(slots: int) -> None:
    spec = showdown_spec(slots, 2)
    net, obs = net_of(spec, spread=0.0), observations(spec)
    exact = outputs(net, obs, spec.actions)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = outputs(net, obs, spec.actions)
    for one, other in zip(exact, rounded, strict=True):
        torch.testing.assert_close(one, other.float(), rtol=0.1, atol=0.05)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("slots", [1, 2])
def test_a_policy_plays_what_the_net_computes(slots: int, bf16: bool) -> None:
    spec = showdown_spec(slots, 2)
    net = net_of(spec, spread=0.0)
    obs, legal = rows_of(spec, 24, seed=1)
    with torch.no_grad():
        dist, value = net(*Staging(spec).put(obs, legal))
        best = dist.best()
    zeros = np.zeros(24, np.int64)
    arrivals = Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))
    choices = NetPolicy(net, spec, greedy=True, bf16=bf16).act(arrivals)
    assert legal[np.arange(24), choices.action].all()
    np.testing.assert_allclose(choices.value, value.numpy(), atol=0.02 if bf16 else 1e-5)
    if not bf16:
        np.testing.assert_array_equal(choices.action, best.numpy())


def test_it_learns_to_move_or_to_switch_by_a_pair_of_benched_pokemon() -> None:
    """It must switch if a certain own Pokemon and a certain one of the foe both have the second type."""
    spec = showdown_spec(1, 1, full=False)
    net = net_of(spec, spread=0.0)
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    legal = torch.zeros(ROWS_LEARNED, spec.actions, dtype=torch.bool)
    legal[:, [0, 5]] = True  # the first move, and the switch to the second Pokemon
    hits = []
    for seed in range(UPDATES):
        types = torch.from_numpy(np.random.default_rng(seed).integers(1, 3, (ROWS_LEARNED, 2)).astype(np.uint8))
        leaves = {leaf.name: torch.zeros(ROWS_LEARNED, *leaf.shape).to(STORED[leaf.name]) for leaf in spec.obs.leaves}
        leaves["types"][:, 1, 0], leaves["types"][:, 9, 0] = types[:, 0], types[:, 1]
        action = torch.where((types == 2).all(1), 5, 0)
        dist, _ = net(leaves, legal)
        optimiser.zero_grad()
        torch.autograd.backward(-dist.log_prob(action).mean())
        optimiser.step()
        hits.append(float((dist.best() == action).float().mean()))
        if min(hits[-5:]) > 0.95:
            return
    pytest.fail(f"after {UPDATES} updates it chooses rightly in {hits[-1]:.0%}")


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy\.heads: 3 must divide policy\.width, which is 16"):
        TokenNet(showdown_spec(1, 1), PolicyConfig(net="tokens", width=16, heads=3))
