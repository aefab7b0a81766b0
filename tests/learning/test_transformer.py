"""The set transformer learns which of several entities is the largest, some of which are not there."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig
from ludus.learner.ppo import Ppo
from ludus.policies.nets import build
from ludus.policies.network import NetPolicy
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

ENTITIES = 4
SPEC = GameSpec("largest", 1, ENTITIES, ObsSpec.pack({"size": ("float32", (ENTITIES, 1))}), 1)


def seen(random: np.random.Generator, rows: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.intp]]:
    """Observations, which entities are there, and the largest of each row."""
    sizes = random.uniform(0.1, 1.0, (rows, ENTITIES)).astype(np.float32)
    there = random.random((rows, ENTITIES)) < 0.8
    there[np.arange(rows), random.integers(0, ENTITIES, rows)] = True
    obs = np.zeros((rows, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(obs, "size")[:, :, 0] = np.where(there, sizes, 0.0)
    return obs, there, np.where(there, sizes, 0.0).argmax(1)


def test_it_learns_to_choose_the_largest() -> None:
    random = np.random.default_rng(0)
    net = build(SPEC, PolicyConfig(net="transformer", width=16, context=32, layers=1, heads=2), "mlp", seed=1)
    config = LearnerConfig(minibatch=128, epochs=2, entropy_coef=0.001, ppo=PpoConfig(target_kl=0))
    algorithm = Ppo(net, SPEC, config, torch.Generator().manual_seed(2), torch.device("cpu"))
    player = NetPolicy(
        build(SPEC, PolicyConfig(net="transformer", width=16, context=32, layers=1, heads=2), "mlp"), SPEC
    )
    for update in range(60):
        player.adopt(algorithm.weights.numpy(), update)
        batch = SegmentLayout(SPEC, 64, 8).allocate()
        obs, there, largest = seen(random, 512)
        choices = player.act(_arrivals(obs, there))
        batch.obs[:], batch.legal[:] = obs.reshape(64, 8, -1), there.reshape(64, 8, -1)
        for name in ("action", "logp", "value"):
            getattr(batch, name)[:] = getattr(choices, name).reshape(64, 8)
        batch.reward[:] = (choices.action == largest).reshape(64, 8)
        batch.ends[:] = True
        algorithm.update(batch, 5e-3)
    player.adopt(algorithm.weights.numpy(), 60)
    player.sampler.greedy = True
    obs, there, largest = seen(random, 500)
    assert (player.act(_arrivals(obs, there)).action == largest).mean() > 0.9


def _arrivals(obs: NDArray[np.uint8], legal: NDArray[np.bool_]) -> Arrivals:
    n = len(obs)
    zeros = np.zeros(n, np.int64)
    return Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), np.ones(n, np.bool_))
