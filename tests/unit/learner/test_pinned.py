from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.config.settings import PolicyConfig
from ludus.learner.batch import Intake
from ludus.learner.pinned import PinnedStaging
from ludus.policies.nets import build
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec

LEAVES = {"a": ("uint8", (3,)), "b": ("float32", (2, 2)), "c": ("int16", (5,))}
SPEC = GameSpec("fake", 1, 3, ObsSpec.pack(LEAVES), 1)
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("device", DEVICES)
def test_rows_come_over_as_they_were_however_many_follow(device: str) -> None:
    random = np.random.default_rng(1)
    staging = PinnedStaging(SPEC, torch.device(device), rows=8)
    kept = []
    for rows in (8, 3, 8, 1, 8, 8):
        obs = random.integers(0, 256, (rows, SPEC.obs.nbytes), np.uint8)
        legal = random.random((rows, SPEC.actions)) < 0.5
        leaves, allowed = staging.put(obs, legal)
        kept.append((obs, legal, {name: leaf.clone() for name, leaf in leaves.items()}, allowed.clone()))
    for obs, legal, leaves, allowed in kept:
        np.testing.assert_array_equal(allowed.cpu().numpy(), legal)
        for name, leaf in leaves.items():
            np.testing.assert_array_equal(leaf.cpu().numpy(), SPEC.obs.leaf(obs, name))


@pytest.mark.parametrize("device", DEVICES)
def test_batch_is_the_same_by_either_way(device: str) -> None:
    random = np.random.default_rng(2)
    batch = SegmentLayout(SPEC, 5, 4).allocate()
    for leaf in SPEC.obs.leaves:
        SPEC.obs.leaf(batch.obs, leaf.name)[:] = random.integers(0, 9, (5, 4, *leaf.shape))
    batch.legal[:] = random.random(batch.legal.shape) < 0.5
    net = build(SPEC, PolicyConfig(width=4), "mlp").to(device)
    one, other = (Intake(net, SPEC, torch.device(device), 6, pinned=pinned).take(batch) for pinned in (False, True))
    assert torch.equal(one.inputs["leaves"], other.inputs["leaves"])
    assert torch.equal(one.legal, other.legal)
