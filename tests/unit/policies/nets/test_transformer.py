"""The set transformer on made-up observations: what must hold whatever the weights are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.unit.games.showdown.net.test_pointer import showdown_spec
from torch import Tensor

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical
from ludus.policies.nets import build
from ludus.policies.nets.transformer import TransformerNet, grouped
from ludus.spec import GameSpec, ObsSpec

CONFIG = PolicyConfig(net="transformer", width=16, context=24, layers=2, heads=2)
SPEC = GameSpec(
    "cards",
    2,
    5,
    ObsSpec.pack(
        {
            "hand": ("float32", (4, 3)),
            "card": ("uint16", (4,)),
            "board": ("int8", (2, 2, 2)),
            "turn": ("float32", (3,)),
        }
    ),
    1,
    {},
    {"card": np.random.default_rng(0).random((9, 6), dtype=np.float32)},
)


def net_of(spec: GameSpec, config: PolicyConfig = CONFIG) -> TransformerNet:
    net = build(spec, config, "mlp", seed=3)
    assert isinstance(net, TransformerNet)
    with torch.no_grad():
        net.policy.weight.mul_(50)  # it is born nearly indifferent
    return net.eval()


def observed(spec: GameSpec, rows: int = 6, seed: int = 0) -> dict[str, Tensor]:
    random = np.random.default_rng(seed)
    leaves = {}
    for leaf in spec.obs.leaves:
        shape = (rows, *leaf.shape)
        values = random.random(shape) / leaf.unit if leaf.is_real else random.integers(1, 8, shape)
        leaves[leaf.name] = torch.from_numpy(values.astype(leaf.storage_dtype))
    return leaves


def said(net: TransformerNet, obs: dict[str, Tensor], actions: int) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        distribution, value = net(obs, torch.ones(len(next(iter(obs.values()))), actions, dtype=torch.bool))
    assert isinstance(distribution, Categorical)
    return distribution.log_probs, value


def test_leaves_of_one_length_describe_the_same_entities_and_the_rest_the_state() -> None:
    groups, state = grouped(SPEC)
    assert [[leaf.name for leaf in group] for group in groups] == [["hand", "card"], ["board"]]
    assert [leaf.name for leaf in state] == ["turn"]


def test_rows_do_not_see_each_other() -> None:
    net, obs = net_of(SPEC), observed(SPEC)
    whole, values = said(net, obs, 5)
    alone, value = said(net, {name: leaf[2:3] for name, leaf in obs.items()}, 5)
    torch.testing.assert_close(whole[2:3], alone)
    torch.testing.assert_close(values[2:3], value)


def test_every_leaf_matters_and_what_a_table_says_of_an_id_does() -> None:
    net, obs = net_of(SPEC), observed(SPEC)
    before, _ = said(net, obs, 5)
    for name in obs:
        changed = {**obs, name: obs[name].roll(1, 0)}
        assert not torch.allclose(before, said(net, changed, 5)[0]), name
    with torch.no_grad():
        net.groups[0].get_buffer("table_card").mul_(2)
    assert not torch.allclose(before, said(net, obs, 5)[0])


def test_an_entity_of_which_nothing_is_known_is_as_if_it_were_not_there() -> None:
    net, obs = net_of(SPEC), observed(SPEC)
    obs["hand"][:, 3], obs["card"][:, 3] = 0.0, 0
    before = said(net, obs, 5)
    with torch.no_grad():
        net.groups[0].get_parameter("place")[3] += 5.0  # what its token would say
    after = said(net, obs, 5)
    torch.testing.assert_close(before[0], after[0])
    torch.testing.assert_close(before[1], after[1])


def test_rows_in_which_nothing_at_all_is_known_have_finite_answers() -> None:
    obs = {name: torch.zeros_like(leaf) for name, leaf in observed(SPEC).items()}
    log_probs, value = said(net_of(SPEC), obs, 5)
    assert torch.isfinite(log_probs).all()
    assert torch.isfinite(value).all()


def test_gradients_reach_every_parameter() -> None:
    net = net_of(SPEC)
    distribution, value = net(observed(SPEC), torch.ones(6, 5, dtype=torch.bool))
    assert isinstance(distribution, Categorical)
    torch.autograd.backward(distribution.log_probs[:, 0].sum() + value.sum())
    assert [name for name, own in net.named_parameters() if own.grad is None or not own.grad.any()] == []


def test_showdown_observations_are_read() -> None:
    spec = showdown_spec(1, 2)
    log_probs, value = said(net_of(spec), observed(spec), spec.actions)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(6))
    assert value.shape == (6,)


def test_a_game_without_entities_is_refused() -> None:
    spec = GameSpec("flat", 1, 2, ObsSpec.pack({"x": ("float32", (4,))}), 1)
    with pytest.raises(ConfigError, match=r"policy\.net: transformer needs entities.*flat has none"):
        net_of(spec)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy\.heads: 3 must divide policy\.width, which is 16"):
        net_of(SPEC, PolicyConfig(net="transformer", width=16, heads=3))
