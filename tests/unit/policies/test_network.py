from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.nets import build
from ludus.policies.nets.mlp import MlpNet
from ludus.policies.network import NetPolicy
from ludus.policies.staging import Staging
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

LEAVES = {"id": ("uint16", (3,)), "flag": ("uint8", (2, 2)), "delta": ("int8", (4,)), "x": ("float32", (5,))}
SPEC = GameSpec("fake", 2, 6, ObsSpec.pack({name: (dtype, shape) for name, (dtype, shape) in LEAVES.items()}), 1)


def policy(*, greedy: bool = False, seed: int = 1) -> NetPolicy:
    net = build(SPEC, PolicyConfig(), "mlp", seed=7)
    return NetPolicy(net, SPEC, version=3, generator=torch.Generator().manual_seed(seed), greedy=greedy)


def arrivals(n: int, seed: int = 0) -> Arrivals:
    random = np.random.default_rng(seed)
    obs = random.integers(0, 100, (n, SPEC.obs.nbytes)).astype(np.uint8)
    SPEC.obs.leaf(obs, "x")[:] = random.normal(size=(n, 5))
    legal = random.random((n, 6)) < 0.5
    legal[np.arange(n), random.integers(0, 6, n)] = True
    for array in (obs, legal):
        array.flags.writeable = False  # as frames are
    zeros = np.zeros(n, np.int64)
    return Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))


def test_only_legal_actions_are_chosen_and_their_log_probability_is_given() -> None:
    came = arrivals(500)
    choices = policy().act(came)
    assert choices.version == 3
    assert choices.action.dtype == np.int32
    assert came.legal[np.arange(500), choices.action].all()
    single = came.legal.sum(1) == 1
    np.testing.assert_allclose(choices.logp[single], 0, atol=1e-6)
    assert (choices.logp[~single] < 0).all()
    assert np.isfinite(choices.value).all()


def test_same_seed_gives_the_same_choices_and_greedy_needs_none() -> None:
    came = arrivals(64)
    np.testing.assert_array_equal(policy(seed=4).act(came).action, policy(seed=4).act(came).action)
    assert (policy(seed=4).act(came).action != policy(seed=5).act(came).action).any()
    np.testing.assert_array_equal(
        policy(seed=4, greedy=True).act(came).action, policy(seed=5, greedy=True).act(came).action
    )


def test_rows_are_independent_of_each_other_and_of_the_buffers_before() -> None:
    player, came = policy(greedy=True), arrivals(200)
    whole = player.act(came)
    some = np.array([3, 150, 77])
    few = player.act(came.take(some))
    np.testing.assert_array_equal(few.action, whole.action[some])
    np.testing.assert_allclose(few.value, whole.value[some], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(player.values(came.obs[some], came.row[some]), whole.value[some], rtol=1e-5, atol=1e-6)


def test_adopted_weights_change_what_is_played() -> None:
    player, came = policy(greedy=True), arrivals(64)
    before = player.act(came)
    player.adopt(np.zeros(player.weights.vector.numel(), np.float32), 9)
    after = player.act(came)
    assert after.version == 9
    assert not after.value.any()
    assert before.value.any()


def test_staging_keeps_leaves_in_their_own_types() -> None:
    came, staging = arrivals(100), Staging(SPEC)
    leaves, legal = staging.put(came.obs, came.legal)
    for name, leaf in SPEC.obs.view(came.obs).items():
        np.testing.assert_array_equal(leaves[name].numpy(), leaf)
    np.testing.assert_array_equal(legal.numpy(), came.legal)


def test_same_seed_builds_the_same_net_without_touching_the_global_generator() -> None:
    before = torch.random.get_rng_state()
    first, second = (build(SPEC, PolicyConfig(), "mlp", seed=7).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(before, torch.random.get_rng_state())


def test_unknown_net_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown net 'lstm'"):
        build(SPEC, PolicyConfig(), "lstm")


def test_net_that_a_game_brings_is_built_by_its_name() -> None:
    own = build(SPEC, PolicyConfig(), "own", game_nets={"own": MlpNet})
    assert isinstance(own, MlpNet)
    with pytest.raises(ConfigError, match=r"unknown net 'onw'; did you mean own\?"):
        build(SPEC, PolicyConfig(net="onw"), "own", game_nets={"own": MlpNet})


def test_module_that_is_no_net_is_refused() -> None:
    def linear(spec: GameSpec, config: PolicyConfig) -> Any:  # Any: a module that is no Net
        return torch.nn.Linear(1, 1)

    with pytest.raises(ConfigError, match=r"'own' is a Linear, not a subclass of ludus\.policies\.nets\.net\.Net"):
        build(SPEC, PolicyConfig(), "own", game_nets={"own": linear})
