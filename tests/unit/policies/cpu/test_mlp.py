"""The plain net at play against its own `forward`, which is the slow and obvious twin."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ludus.config.settings import PolicyConfig
from ludus.policies.cpu import mlp
from ludus.policies.cpu.mlp import MlpChooser
from ludus.policies.nets.mlp import MlpNet
from ludus.policies.staging import Staging
from ludus.spec import GameSpec, ObsSpec

LEAVES: dict[str, dict[str, tuple[str, tuple[int, ...]]]] = {
    "floats alone": {"a": ("float32", (4,)), "b": ("float32", (2, 3))},
    "floats apart": {"a": ("float32", (2,)), "ids": ("int16", (3,)), "b": ("float32", (2,))},
    "no floats": {"ids": ("uint8", (5,)), "more": ("int32", (2,))},
}


def spec_of(leaves: str) -> GameSpec:
    return GameSpec("test", 1, 5, ObsSpec.pack(LEAVES[leaves]), 1)


def net_of(spec: GameSpec) -> MlpNet:
    torch.manual_seed(3)
    net = MlpNet(spec, PolicyConfig(width=4))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return net


def rows_of(spec: GameSpec, n: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    random = np.random.default_rng(5)
    obs = np.zeros((n, spec.obs.nbytes), np.uint8)
    for leaf in spec.obs.leaves:
        values = (
            random.normal(size=(n, *leaf.shape))
            if leaf.dtype == "float32"
            else random.integers(0, 99, (n, *leaf.shape))
        )
        spec.obs.leaf(obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
    legal = random.random((n, spec.actions)) < 0.5
    legal[np.arange(n), random.integers(0, spec.actions, n)] = True
    return obs, legal


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("one_thread", [0, mlp.ONE_THREAD])  # by torch, and by numpy
def test_it_chooses_what_forward_would(
    monkeypatch: pytest.MonkeyPatch, leaves: str, greedy: bool, one_thread: int
) -> None:
    monkeypatch.setattr(mlp, "ONE_THREAD", one_thread)
    spec = spec_of(leaves)
    net = net_of(spec)
    obs, legal = rows_of(spec, 40)
    with torch.no_grad():
        said, value = net(*Staging(spec).put(obs, legal))
        action = said.best() if greedy else said.sample(torch.Generator().manual_seed(9))
        logp = said.log_prob(action)
    uniform = None if greedy else torch.rand(1, 40, generator=torch.Generator().manual_seed(9)).numpy()
    chosen = MlpChooser(net, spec).choose(obs, legal, uniform)
    assert np.array_equal(chosen[0], action.numpy())
    assert np.allclose(chosen[1], logp.numpy(), atol=1e-5)
    assert np.allclose(chosen[2], value.numpy(), atol=1e-5)


def test_it_plays_with_other_weights_after_a_refresh_and_not_before() -> None:
    spec = spec_of("floats alone")
    net = net_of(spec)
    obs, legal = rows_of(spec, 8)
    chooser = MlpChooser(net, spec)
    before = chooser.choose(obs, legal, None)[2]
    with torch.no_grad():
        net.value.bias.add_(1)
    assert np.array_equal(chooser.choose(obs, legal, None)[2], before)
    chooser.refresh()
    assert np.allclose(chooser.choose(obs, legal, None)[2], before + 1, atol=1e-5)
