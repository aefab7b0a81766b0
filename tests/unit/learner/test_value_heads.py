"""Every algorithm trains both kinds of value head towards the same values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.rewarded import LENGTH, SEGMENTS, SPEC, batch

from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig, ValueConfig
from ludus.learner import algorithms
from ludus.policies.nets import build
from ludus.types import SegmentBatch

RETURNS = (-1.0, 0.3, 1.2)  # mean reward after each of the three observations


def batch_of(seed: int) -> SegmentBatch:
    """Matches of one decision whose reward depends on the observation, not on the action, and is +-0.5 off."""
    segments = batch(seed)
    observed = SPEC.obs.leaf(segments.obs, "x").argmax(-1)
    noise = np.random.default_rng(1000 + seed).choice([-0.5, 0.5], (SEGMENTS, LENGTH))
    segments.reward[:] = np.array(RETURNS)[observed] + noise
    return segments


@pytest.mark.parametrize("value", [ValueConfig(), ValueConfig(bins=51), ValueConfig(bins=51, smoothing=0.0)])
@pytest.mark.parametrize("name", ["ppo", "ppo_kl", "vtrace", "bc", "awr"])
def test_values_become_the_mean_returns(name: str, value: ValueConfig) -> None:
    net = build(SPEC, PolicyConfig(width=8, value=value), "mlp", seed=1)
    config = LearnerConfig(algorithm=name, minibatch=64, epochs=2, ppo=PpoConfig(target_kl=0))
    algorithm = algorithms.build(config, net, SPEC, torch.Generator().manual_seed(2), torch.device("cpu"))
    for seed in range(60):
        numbers = algorithm.update(batch_of(seed), 3e-3 if seed < 45 else 3e-4)
        assert np.isfinite(list(numbers.values())).all()
    with torch.no_grad():
        _, values = algorithm.net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    np.testing.assert_allclose(values.numpy(), RETURNS, atol=0.15)
