"""The net `entities` on made-up observations: what must hold whatever the weights are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.unit.policies.nets.test_lists import LAYOUT, SPEC
from tests.unit.policies.nets.test_transformer import observed
from torch import Tensor

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical
from ludus.policies.nets import build
from ludus.policies.nets.entities import EntityNet
from ludus.policies.nets.entity_tokens import Entities
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

CONFIG = PolicyConfig(net="entities", width=16, context=24, layers=2, heads=2)
ROWS = 6


def net_of(spec: GameSpec = SPEC, config: PolicyConfig = CONFIG) -> EntityNet:
    net = build(spec, config, "mlp", seed=3)
    assert isinstance(net, EntityNet)
    with torch.no_grad():
        net.options.score.weight.mul_(50)  # it is born nearly indifferent
    return net.eval()


def shown(seed: int = 0) -> dict[str, Tensor]:
    """Return observations in which cards refer to cards 0 to 3, or to none."""
    obs, random = observed(SPEC, ROWS, seed), np.random.default_rng(seed)
    for name in ("attacks", "option_card"):
        obs[name] = torch.from_numpy(random.integers(0, 5, obs[name].shape).astype(np.uint8))
    return obs


def outputs(net: EntityNet, obs: dict[str, Tensor], actions: int = 5) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        distribution, value = net(obs, torch.ones(len(next(iter(obs.values()))), actions, dtype=torch.bool))
    assert isinstance(distribution, Categorical)
    return distribution.log_probs, value


def test_rows_do_not_see_each_other() -> None:
    net, obs = net_of(), shown()
    log_probs, value = outputs(net, obs)
    alone = outputs(net, {name: leaf[2:3] for name, leaf in obs.items()})
    torch.testing.assert_close(log_probs[2:3], alone[0])
    torch.testing.assert_close(value[2:3], alone[1])


def test_every_leaf_and_the_table_matter() -> None:
    net, obs = net_of(), shown()
    before, _ = outputs(net, obs)
    for name in obs:
        assert not torch.allclose(before, outputs(net, {**obs, name: obs[name].roll(1, 0)})[0]), name
    with torch.no_grad():
        for module in net.modules():
            for _, table in module.named_buffers(recurse=False):
                table.mul_(2)
    assert not torch.allclose(before, outputs(net, obs)[0])


def test_the_order_of_options_does_not_matter() -> None:
    net, obs, order = net_of(), shown(), torch.tensor([3, 0, 4, 1, 2])
    log_probs, value = outputs(net, obs)
    other = outputs(net, {name: leaf[:, order] if name.startswith("option") else leaf for name, leaf in obs.items()})
    torch.testing.assert_close(log_probs[:, order], other[0])
    torch.testing.assert_close(value, other[1])


def test_the_order_of_entities_does_not_matter_if_what_refers_to_them_follows() -> None:
    net, obs, order = net_of(), shown(), torch.tensor([2, 0, 3, 1])
    before = outputs(net, obs)
    places = torch.cat((torch.zeros(1, dtype=torch.int64), order.argsort() + 1))  # by old position; 0 stays none
    moved = {**obs, **{name: obs[name][:, order] for name in ("name", "power", "attacks")}}
    for name in ("attacks", "option_card"):
        moved[name] = places[moved[name].long()].to(torch.uint8)
    after = outputs(net, moved)
    torch.testing.assert_close(before[0], after[0])
    torch.testing.assert_close(before[1], after[1])
    assert not torch.allclose(before[0], outputs(net, {**moved, "option_card": obs["option_card"]})[0])


def test_a_relation_tells_both_ends() -> None:
    net, obs = net_of(), shown()
    obs["attacks"].zero_()
    alone = net._tokens(net.prepare(obs, torch.ones(ROWS, 5, dtype=torch.bool)))
    obs["attacks"][:, 0, 1] = 3  # card 0 attacks card 2
    related = net._tokens(net.prepare(obs, torch.ones(ROWS, 5, dtype=torch.bool)))
    differs = [not torch.equal(alone[:, at], related[:, at]) for at in range(alone.shape[1])]
    assert [at for at, each in enumerate(differs) if each] == [1, 3]  # after the state token


@pytest.mark.parametrize("name", ["attacks", "option_card"])
def test_a_position_that_no_entity_has_means_none(name: str) -> None:
    net, obs = net_of(), shown()
    none, far = {**obs, name: torch.zeros_like(obs[name])}, {**obs, name: torch.full_like(obs[name], 5)}
    torch.testing.assert_close(outputs(net, none), outputs(net, far))


def test_an_id_that_the_table_does_not_have_means_unknown() -> None:
    net, obs = net_of(), shown()
    unknown, far = {**obs, "name": torch.zeros_like(obs["name"])}, {**obs, "name": torch.full_like(obs["name"], 9)}
    torch.testing.assert_close(outputs(net, unknown), outputs(net, far))


def test_entities_that_are_not_there_are_not_attended_to() -> None:
    net, obs = net_of(), shown()
    obs["life"].zero_()
    before = outputs(net, obs)
    with torch.no_grad():
        net.get_parameter("entities.1.numbers_in.bias").add_(5.0)  # what the tokens of absent players would say
    torch.testing.assert_close(before, outputs(net, obs))


def test_rows_in_which_nothing_is_known_have_finite_outputs() -> None:
    log_probs, value = outputs(net_of(), {name: torch.zeros_like(leaf) for name, leaf in shown().items()})
    assert torch.isfinite(log_probs).all()
    assert torch.isfinite(value).all()


@pytest.mark.parametrize("layout", [LAYOUT, {}, {"grids": ["map"]}, {"entities": {}}])
def test_gradients_reach_every_parameter(layout: dict[str, object]) -> None:
    net = net_of(replace(SPEC, layout=layout))
    distribution, value = net(shown(), torch.ones(ROWS, 5, dtype=torch.bool))
    assert isinstance(distribution, Categorical)
    torch.autograd.backward(distribution.log_probs[:, 0].sum() + value.sum())
    # softmax ignores what is added to all scores, and attention what is added to all keys
    assert [
        name
        for name, own in net.named_parameters()
        if name != "options.score.bias" and (own.grad is None or not own.grad.any())
    ] == []


@pytest.mark.parametrize(("size", "patches"), [((3, 3, 2), 9), ((8, 8, 1), 64), ((15, 20, 3), 40), ((200, 96, 4), 42)])
def test_grids_of_any_size_become_a_few_patches(size: tuple[int, int, int], patches: int) -> None:
    spec = GameSpec("map", 1, 3, ObsSpec.pack({"map": ("uint8", size)}), 1)
    net, obs = net_of(spec), observed(spec)
    assert net.prepare(obs, torch.ones(ROWS, 3, dtype=torch.bool))["known"].shape[1] == 1 + patches
    before, _ = outputs(net, obs, 3)
    obs["map"][:, 0, 0] = 90
    assert not torch.allclose(before, outputs(net, obs, 3)[0])


def test_a_game_of_a_single_vector_works() -> None:
    spec = GameSpec("flat", 1, 2, ObsSpec.pack({"x": ("float32", (4,))}), 1)
    log_probs, _ = outputs(net_of(spec), observed(spec), 2)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(ROWS))


def test_frozen_tables_are_used_until_they_are_frozen_again() -> None:
    net, obs = net_of(), shown()
    before = outputs(net, obs)
    net.freeze_tables()
    torch.testing.assert_close(outputs(net, obs), before)
    places = {
        module: module.frozen["name"].data_ptr()
        for module in net.modules()
        if isinstance(module, Entities) and module.frozen
    }
    assert len(places) == 2  # of the cards and of the options
    with torch.no_grad():
        for module in places:
            module.named["name"].mul_(3)
    torch.testing.assert_close(outputs(net, obs), before)
    net.freeze_tables()
    changed = outputs(net, obs)
    assert not torch.allclose(changed[0], before[0])
    assert {module: module.frozen["name"].data_ptr() for module in places} == places
    distribution, _ = net(obs, torch.ones(ROWS, 5, dtype=torch.bool))  # with gradients: the weights themselves
    assert isinstance(distribution, Categorical)
    torch.testing.assert_close(distribution.log_probs.detach(), changed[0])


def test_names_that_pytorch_reserves_are_accepted() -> None:
    leaves = {"items": ("uint8", (3,)), "options.numbers": ("uint8", (3,)), "state": ("uint8", (2,))}
    layout = {
        "entities": {"items": ["items"], "options": ["options.numbers"], "a.b": ["state"]},
        "ids": {"options.numbers": "keys", "state": "a.b"},
    }
    tables = {name: np.ones((4, 2), np.float32) for name in ("items", "keys", "a.b")}
    spec = GameSpec("named", 1, 2, ObsSpec.pack(leaves), 1, layout, tables)
    assert torch.isfinite(outputs(net_of(spec), observed(spec), 2)[0]).all()


def test_more_entities_than_attention_can_hold_are_refused() -> None:
    spec = GameSpec("crowd", 1, 2, ObsSpec.pack({"unit": ("float32", (5000, 2))}), 1)
    with pytest.raises(ConfigError, match=r"entities would attend to 5,001 entities and patches of crowd"):
        net_of(spec)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy\.heads: 3 must divide policy\.width, which is 16"):
        net_of(config=PolicyConfig(net="entities", width=16, heads=3))


def test_the_example_of_the_documentation_is_read() -> None:
    text = (Path(__file__).parents[4] / "docs/host-protocol.md").read_text()
    example = json.loads(text.partition("in which cards attack players")[2].split("```")[1].removeprefix("json"))
    leaves = {name: (dtype, tuple(shape)) for name, dtype, shape in example["obs"]}
    tables = {name: np.ones(table["shape"], np.float32) for name, table in example["tables"].items()}
    spec = GameSpec("example", 2, 16, ObsSpec.pack(leaves), 1, example["layout"], tables)
    assert torch.isfinite(outputs(net_of(spec), observed(spec), 16)[0]).all()


@pytest.mark.parametrize("kind", ["none", "lstm"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_computes_under_autocast(kind: str, dtype: torch.dtype) -> None:
    recurrent = RecurrentConfig(kind=kind, width=8)  # type: ignore[arg-type]  # one of the literals
    net, obs = net_of(config=PolicyConfig(net="entities", width=16, heads=2, recurrent=recurrent)), shown()
    log_probs, value = outputs(net, obs)
    with torch.autocast("cpu", dtype):
        rounded = outputs(net, obs)
    torch.testing.assert_close(log_probs, rounded[0].float(), atol=0.05, rtol=0.05)
    torch.testing.assert_close(value, rounded[1].float(), atol=0.05, rtol=0.05)


@pytest.mark.parametrize("kind", ["none", "gru"])
@pytest.mark.parametrize("bf16", [False, True])
def test_a_policy_plays_with_it(kind: str, bf16: bool) -> None:
    recurrent = RecurrentConfig(kind=kind, width=8)  # type: ignore[arg-type]  # one of the literals
    net = net_of(config=PolicyConfig(net="entities", width=16, heads=2, recurrent=recurrent))
    policy = NetPolicy(net, SPEC, bf16=bf16, greedy=True)
    obs, legal = np.zeros((ROWS, SPEC.obs.nbytes), np.uint8), np.ones((ROWS, 5), np.bool_)
    for name, leaf in shown().items():
        SPEC.obs.leaf(obs, name)[...] = leaf.numpy()
    legal[:, :4] = False
    arrivals = Arrivals(
        np.arange(ROWS, dtype=np.int32), np.zeros(ROWS, np.int64), obs, legal, np.zeros(ROWS, np.float32), legal[:, 4]
    )
    choices = policy.act(arrivals)
    assert (choices.action == 4).all()
    assert np.isfinite(choices.value).all()
