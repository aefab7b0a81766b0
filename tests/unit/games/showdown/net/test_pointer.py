"""The pointer net on made-up observations: what must hold whatever the weights are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.games.showdown.net.pointer import PointerNet
from ludus.games.showdown.net.sums import sum_rows_gradient
from ludus.policies.distributions import Categorical, Distribution
from ludus.spec import GameSpec, ObsSpec

ROWS = 5

SHOWDOWN_NETS = {"pointer": PointerNet}


def showdown_spec(slots: int, variants: int, *, full: bool = True, preview: int = 0) -> GameSpec:
    """With one variant like gen 1, which has neither items nor abilities."""
    targets = 1 if slots == 1 else 5
    slot_actions = 4 * variants * targets + 6 + (slots > 1)
    leaves: dict[str, tuple[str, tuple[int, ...]]] = {
        "species": ("uint16", (12,)),
        "ability": ("uint16", (12,)),
        "item": ("uint16", (12,)),
        "types": ("uint8", (12, 3)),
        "moves": ("uint16", (12, 4)),
        "pokemon": ("fixed16", (12, 9)),
        "move_state": ("fixed8", (12, 4, 3)),
        "boosts": ("int8", (2 * slots, 7)),
        "volatiles": ("uint8", (2 * slots, 5)),
        "field": ("fixed16", (8,)),
    }
    if full:
        leaves["matchup"] = ("fixed8", (6, 4, slots, 5))
        leaves["threat"] = ("fixed8", (slots, 4, 6, 5))
        leaves["duel"] = ("fixed8", (6, slots, 4))
    generator = np.random.default_rng(0)
    sizes = {"move": 20, "species": 20, "item": 20 if variants > 1 else 2, "ability": 20 if variants > 1 else 2}
    tables = {name: generator.random((size, 6), dtype=np.float32) for name, size in sizes.items()}
    tables["effectiveness"] = np.ones((20, 20), np.float32)
    if preview:
        tables["preview"] = np.array(
            [[i % 6, (i + 1) % 6, (i + 2) % 6, (i + 3) % 6] for i in range(preview)], np.float32
        )
    layout = {"slots": slots, "targets": targets, "variants": ["plain", "tera"][:variants]}
    return GameSpec("showdown", 2, slot_actions**slots + preview, ObsSpec.pack(leaves), 1, layout, tables)


def observations(spec: GameSpec, seed: int = 0) -> dict[str, Tensor]:
    generator = np.random.default_rng(seed)
    leaves = {}
    for leaf in spec.obs.leaves:
        shape = (ROWS, *leaf.shape)
        values = generator.random(shape) / leaf.unit if leaf.is_real else generator.integers(0, 19, shape)
        leaves[leaf.name] = torch.from_numpy(values.astype(leaf.storage_dtype))
    return leaves


def log_probs(net: PointerNet, obs: dict[str, Tensor], legal: Tensor) -> Tensor:
    said: Distribution = net(obs, legal)[0]
    assert isinstance(said, Categorical)
    return said.log_probs


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("slots", "variants", "preview"), [(1, 1, 0), (1, 2, 6), (2, 2, 0), (2, 2, 90)])
def test_every_format_gets_one_probability_an_action(slots: int, variants: int, preview: int, full: bool) -> None:
    spec = showdown_spec(slots, variants, full=full, preview=preview)
    legal = torch.ones(ROWS, spec.actions, dtype=torch.bool)
    said, value = PointerNet(spec, PolicyConfig(width=16, context=16))(observations(spec), legal)
    probabilities = torch.stack([said.log_prob(torch.full((ROWS,), a)).exp() for a in range(spec.actions)], dim=1)
    assert value.shape == (ROWS,)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(ROWS))


@pytest.mark.parametrize(("slots", "variants", "preview"), [(1, 2, 6), (2, 2, 90)])
def test_gradients_in_lower_precision_are_near_those_in_full(slots: int, variants: int, preview: int) -> None:
    spec = showdown_spec(slots, variants, preview=preview)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    obs, legal = observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool)
    found = []
    for lower in (False, True):
        net.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=lower):
            said, value = net(obs, legal)
        action = torch.arange(ROWS)
        total = (said.log_prob(action) + said.entropy(action) + value.float()).sum()
        torch.autograd.backward(total)
        found.append(torch.cat([part.grad.flatten() for part in net.parameters() if part.grad is not None]))
    exact, rounded = found
    assert rounded.dtype == torch.float32
    assert 0 < float((rounded - exact).norm() / exact.norm()) < 0.05


def test_what_was_prepared_in_lower_precision_is_judged_in_full_by_a_net_that_does_not_round() -> None:
    spec = showdown_spec(2, 2)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    obs, legal = observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = net.prepare(obs, legal)
    assert {name for name, leaf in rounded.items() if leaf.dtype == torch.bfloat16} == {
        "own",
        "foe",
        "own_active",
        "foe_active",
        "state",
        "field",
    }
    action = torch.arange(ROWS)
    exact, near = (net.outputs(inputs, legal)[0].log_prob(action) for inputs in (net.prepare(obs, legal), rounded))
    assert near.dtype == torch.float32
    torch.testing.assert_close(near, exact, atol=0.02, rtol=0)


@pytest.mark.parametrize("kind", ["bag", "product", "sum"])
def test_sums_over_many_rows_do_not_stop_where_lower_precision_would(kind: str) -> None:
    """256 + 1 is 256 in bf16: what encodes Pokemon there relies on sums that are made in float32."""
    ones = torch.ones(4096, 8, dtype=torch.bfloat16)
    if kind == "bag":
        found = sum_rows_gradient(torch.zeros(4096, 1, dtype=torch.int32), ones, 3)[0]
    else:
        found = (ones.t() @ ones)[0] if kind == "product" else ones.sum(0)
    assert (found == 4096).all()


def test_masked_actions_cannot_be_chosen() -> None:
    spec = showdown_spec(1, 1)
    legal = torch.zeros(ROWS, spec.actions, dtype=torch.bool)
    legal[:, 3] = True
    said, _ = PointerNet(spec, PolicyConfig(width=16, context=16))(observations(spec), legal)
    assert (said.sample(torch.Generator()) == 3).all()
    assert (said.log_prob(torch.full((ROWS,), 4)).exp() == 0).all()


def test_swapping_two_benched_pokemon_swaps_their_switch_logits_and_nothing_else() -> None:
    spec = showdown_spec(1, 1)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    net.switch_out.weight.data.mul_(100)  # so that a difference would show
    obs, legal = observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool)
    swap = torch.arange(12)
    swap[[2, 4]] = swap[[4, 2]]
    swapped = {name: leaf[:, swap] if leaf.shape[1] == 12 else leaf.clone() for name, leaf in obs.items()}
    for name in ("matchup", "duel"):
        swapped[name] = obs[name][:, swap[:6]]
    swapped["threat"] = obs["threat"][:, :, :, swap[:6]]
    before, after = log_probs(net, obs, legal), log_probs(net, swapped, legal)
    order = list(range(spec.actions))
    order[4 + 2], order[4 + 4] = 4 + 4, 4 + 2
    torch.testing.assert_close(after, before[:, order])
    assert not torch.allclose(before[:, 6], before[:, 8])


def test_a_move_is_scored_by_what_it_is_and_not_by_its_place() -> None:
    spec = showdown_spec(1, 1)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    net.move_out.weight.data.mul_(100)
    obs, legal = observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool)
    before = log_probs(net, obs, legal)
    order = [2, 0, 3, 1]
    shuffled = dict(obs)
    for name in ("moves", "move_state", "matchup"):
        shuffled[name] = obs[name].clone()
        shuffled[name][:, 0] = obs[name][:, 0][:, order]
    after = log_probs(net, shuffled, legal)
    torch.testing.assert_close(after[:, :4], before[:, order])
    torch.testing.assert_close(after[:, 4:], before[:, 4:])
    assert not torch.allclose(before[:, 0], before[:, 1])


def test_frozen_tables_give_the_same_answers_until_weights_change() -> None:
    spec = showdown_spec(2, 2)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    obs, legal = observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool)
    with torch.no_grad():
        plain = net(obs, legal)[1]
        net.freeze_tables()
        torch.testing.assert_close(net(obs, legal)[1], plain, rtol=0, atol=0)
        net.names.own.add_(1.0)
        net.freeze_tables()
        assert not torch.allclose(net(obs, legal)[1], plain)


def test_gradients_reach_every_weight() -> None:
    spec = showdown_spec(2, 2, preview=90)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    said, value = net(observations(spec), torch.ones(ROWS, spec.actions, dtype=torch.bool))
    action = torch.tensor([0, 100, 500, 2208, 2210])
    total = (said.log_prob(action) + said.entropy(action) + value).sum()
    torch.autograd.backward(total)
    assert [name for name, weight in net.named_parameters() if weight.grad is None] == []


def test_tables_that_tell_nothing_are_not_looked_up() -> None:
    for variants, names in ((1, 9), (2, 11)):
        spec = showdown_spec(1, variants)
        ids = PointerNet(spec, PolicyConfig(width=16, context=16)).names.ids(observations(spec))
        assert ids.shape == (ROWS, 12, names)


def test_another_games_observations_are_refused_by_name() -> None:
    spec = GameSpec("toy", 2, 3, ObsSpec.pack({"state": ("float32", (4,))}), 1)
    with pytest.raises(ConfigError, match="species"):
        PointerNet(spec, PolicyConfig())
