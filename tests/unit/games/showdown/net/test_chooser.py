"""The pointer net at play against its own `forward`, which is the slow and obvious twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.unit.games.showdown.net.test_pointer import showdown_spec

from ludus.config.settings import PolicyConfig, ValueConfig
from ludus.games.showdown.net.chooser import PointerChooser
from ludus.games.showdown.net.pointer import PointerNet
from ludus.policies.cpu.drawing import draw
from ludus.policies.distributions import Categorical
from ludus.policies.network import NetPolicy
from ludus.policies.staging import Staging
from ludus.spec import GameSpec
from ludus.types import Arrivals

SPECS = [(1, 1, 0, True), (1, 2, 6, False), (2, 2, 0, True), (2, 1, 0, False), (2, 2, 90, True)]


def net_of(spec: GameSpec, seed: int = 0) -> PointerNet:
    """With weights far from those it is born with, so that its choices differ."""
    torch.manual_seed(seed)
    net = PointerNet(spec, PolicyConfig(width=16, context=16))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return net


def rows_of(spec: GameSpec, n: int, seed: int, *, preview: bool = False) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    obs = np.zeros((n, spec.obs.nbytes), np.uint8)
    for leaf in spec.obs.leaves:
        shape = (n, *leaf.shape)
        values = random.random(shape) / leaf.unit if leaf.is_real else random.integers(0, 19, shape)
        spec.obs.leaf(obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
    legal = random.random((n, spec.actions)) < 0.1
    previews = len(spec.tables.get("preview", ()))
    battle = spec.actions - previews
    legal[:, battle:] = preview
    legal[:, :battle] &= not preview
    legal[np.arange(n), random.integers(0, battle, n)] |= not preview
    return obs, legal


def expected(
    net: PointerNet, spec: GameSpec, obs: NDArray[np.uint8], legal: NDArray[np.bool_], seed: int | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        said, value = net(*Staging(spec).put(obs, legal))
        action = said.best() if seed is None else said.sample(torch.Generator().manual_seed(seed))
        return action, said.log_prob(action), value


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize(("slots", "variants", "preview", "full"), SPECS)
def test_plays_as_the_net_says_for_any_number_of_rows(
    slots: int, variants: int, preview: int, full: bool, greedy: bool
) -> None:
    spec = showdown_spec(slots, variants, full=full, preview=preview)
    net = net_of(spec)
    chooser = PointerChooser(net, spec)
    for n in (5, 1, 130, 64, 5):
        obs, legal = rows_of(spec, n, seed=n)
        assert chooser.takes(legal)
        uniform = None if greedy else torch.rand(slots, n, generator=torch.Generator().manual_seed(n)).numpy()
        chosen = chooser.choose(obs, legal, uniform)
        action, logp, value = expected(net, spec, obs, legal, None if greedy else n)
        np.testing.assert_array_equal(chosen.action, action.numpy())
        np.testing.assert_allclose(chosen.logp, logp.numpy(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(chosen.value, value.numpy(), rtol=1e-4, atol=1e-5)


def test_what_was_chosen_stays_when_other_rows_are_chosen_for() -> None:
    spec = showdown_spec(2, 2)
    chooser = PointerChooser(net_of(spec), spec)
    first = chooser.choose(*rows_of(spec, 8, seed=1), None)
    kept = [array.copy() for array in first]
    chooser.choose(*rows_of(spec, 8, seed=2), None)
    for array, before in zip(first, kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_plays_with_other_weights_once_they_are_adopted() -> None:
    spec = showdown_spec(2, 2)
    policy, other = NetPolicy(net_of(spec), spec), NetPolicy(net_of(spec, seed=1), spec)
    came = _arrivals(spec, 64)
    assert not np.allclose(policy.act(came).value, other.act(came).value)
    policy.adopt(other.weights.numpy(), 1)
    np.testing.assert_allclose(policy.act(came).value, other.act(came).value, rtol=1e-6)


@pytest.mark.parametrize("slots", [1, 2])
def test_a_team_to_preview_is_chosen_by_the_net_itself(slots: int) -> None:
    spec = showdown_spec(slots, 2, preview=90)
    net = net_of(spec)
    came = _arrivals(spec, 6, preview=True)
    assert not PointerChooser(net, spec).takes(came.legal)
    choices = NetPolicy(net, spec, greedy=True).act(came)
    assert came.legal[np.arange(6), choices.action].all()
    action, logp, _ = expected(net, spec, came.obs, came.legal, None)
    np.testing.assert_array_equal(choices.action, action.numpy())
    np.testing.assert_allclose(choices.logp, logp.numpy(), rtol=1e-5)


def test_draws_what_the_same_uniform_numbers_lead_to_in_torch() -> None:
    torch.manual_seed(0)
    logits, legal = torch.randn(2000, 9) * 3, torch.rand(2000, 9) < 0.4
    legal[:, 4] = True
    said = Categorical(logits, legal)
    uniform = torch.rand(1, 2000, generator=torch.Generator().manual_seed(2))
    uniform[0, :2] = torch.tensor([0.0, 1 - 2**-24])
    action, logp = draw(torch.where(legal, logits, -1e9).numpy(), uniform[0].numpy())
    reach = said.log_probs.exp().cumsum(1)
    below = torch.cat((torch.zeros(2000, 1), reach), dim=1).gather(1, torch.from_numpy(action)[:, None])[:, 0]
    assert legal[torch.arange(2000), torch.from_numpy(action)].all()
    assert (below <= uniform[0] + 1e-5).all()
    assert (reach.gather(1, torch.from_numpy(action)[:, None])[:, 0] >= uniform[0] - 1e-5).all()
    np.testing.assert_allclose(logp, said.log_prob(torch.from_numpy(action)).numpy(), rtol=1e-5, atol=1e-6)


def test_slots_draw_the_numbers_that_separate_calls_would() -> None:
    for n, more in pairwise((1, 7, 16, 33, 100)):
        together = torch.rand(2, n, generator=torch.Generator().manual_seed(more))
        apart = torch.Generator().manual_seed(more)
        assert torch.equal(together, torch.stack([torch.rand(n, generator=apart) for _ in range(2)]))


def _arrivals(spec: GameSpec, n: int, *, preview: bool = False) -> Arrivals:
    obs, legal = rows_of(spec, n, seed=3, preview=preview)
    zeros = np.zeros(n, np.int64)
    return Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))


@pytest.mark.parametrize("slots", [1, 2])
def test_values_of_a_categorical_head_are_expectations(slots: int) -> None:
    spec = showdown_spec(slots, 2)
    torch.manual_seed(0)
    net = PointerNet(spec, PolicyConfig(width=16, context=16, value=ValueConfig(bins=51)))
    obs, legal = rows_of(spec, 12, seed=4)
    chosen = PointerChooser(net, spec).choose(obs, legal, None)
    _, _, value = expected(net, spec, obs, legal, None)
    assert value.shape == (12,)
    np.testing.assert_allclose(chosen.value, value.numpy(), rtol=1e-4, atol=1e-5)
