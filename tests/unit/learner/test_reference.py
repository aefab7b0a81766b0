from __future__ import annotations

import pytest
import torch

from ludus.config.settings import LearnerConfig, PolicyConfig
from ludus.errors import CheckpointError
from ludus.learner.optimiser import Optimiser
from ludus.learner.reference import Reference
from ludus.policies.nets import build
from ludus.spec import GameSpec, ObsSpec

SPEC = GameSpec("fake", 1, 3, ObsSpec.pack({"x": ("float32", (2,))}), 1)


def optimiser(seed: int = 1) -> Optimiser:
    net = build(SPEC, PolicyConfig(width=4), "mlp", seed=seed)
    return Optimiser(net, LearnerConfig(), torch.device("cpu"))


def test_reference_begins_as_the_net_and_does_not_change_with_it() -> None:
    learning = optimiser()
    target = Reference("target", learning)
    before = learning.weights.vector.clone()
    learning.weights.vector.add_(1.0)
    assert torch.equal(target.weights.vector, before)
    assert not any(parameter.requires_grad for parameter in target.net.parameters())


def test_reference_follows_by_a_share() -> None:
    learning = optimiser()
    target = Reference("target", learning)
    before = target.weights.vector.clone()
    learning.weights.vector.add_(1.0)
    target.follow(learning.weights.vector, 0.25)
    assert torch.allclose(target.weights.vector, before + 0.25)
    target.follow(learning.weights.vector)
    assert torch.equal(target.weights.vector, learning.weights.vector)


def test_reference_goes_on_from_its_saved_state() -> None:
    saved = {name: tensor.clone() for name, tensor in Reference("target", optimiser(seed=2)).state().items()}
    target = Reference("target", optimiser(seed=1))
    target.load_state({"step": torch.zeros(1), **saved})
    assert torch.equal(target.weights.vector, Reference("other", optimiser(seed=2)).weights.vector)
    with pytest.raises(CheckpointError, match=r"lacks past\.body"):
        Reference("past", optimiser()).load_state(saved)
