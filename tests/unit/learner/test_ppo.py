from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.rewarded import SPEC, batch, with_poison

from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig
from ludus.learner.ppo import Ppo
from ludus.metrics import names
from ludus.policies.nets import build

CONFIG = LearnerConfig(minibatch=32, epochs=2, ppo=PpoConfig(target_kl=0))


def ppo(config: LearnerConfig = CONFIG) -> Ppo:
    net = build(SPEC, PolicyConfig(width=8), "mlp", seed=1)
    return Ppo(net, SPEC, config, torch.Generator().manual_seed(2), torch.device("cpu"))


def everything(algorithm: Ppo) -> list[torch.Tensor]:
    return [algorithm.weights.vector.clone(), *(tensor.clone() for tensor in algorithm.state().values())]


def test_update_makes_rewarded_actions_more_likely_and_reports_finite_numbers() -> None:
    algorithm = ppo()
    for seed in range(20):
        numbers = algorithm.update(batch(seed), 3e-3)
    assert numbers.keys() >= {names.LOSS_POLICY, names.LOSS_VALUE, names.ENTROPY, names.KL, names.EPOCHS, names.LR}
    assert all(np.isfinite(value) for value in numbers.values())
    shown = {"x": torch.eye(3)}
    said, _ = algorithm.net(shown, torch.ones(3, 3, dtype=torch.bool))
    assert said.best().tolist() == [0, 1, 2]


def test_same_batches_give_bit_equal_weights() -> None:
    first, second = ppo(), ppo()
    for seed in range(3):
        first.update(batch(seed), 1e-3)
        second.update(batch(seed), 1e-3)
    assert all(torch.equal(one, other) for one, other in zip(everything(first), everything(second), strict=True))


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["reward", "obs", "logp"])
def test_loss_that_is_not_finite_leaves_weights_and_optimiser_untouched(field: str, poison: float) -> None:
    algorithm = ppo()
    algorithm.update(batch(0), 1e-3)
    before = everything(algorithm)
    poisoned = with_poison(batch(1), field, poison)
    numbers = algorithm.update(poisoned, 1e-3)
    assert numbers[names.SKIPPED] == 1.0
    assert numbers[names.NON_FINITE] >= 1
    assert all(torch.equal(one, other) for one, other in zip(before, everything(algorithm), strict=True))
    assert names.SKIPPED not in algorithm.update(batch(2), 1e-3)


def test_update_stops_after_the_epoch_in_which_the_kl_limit_is_passed() -> None:
    config = LearnerConfig(minibatch=32, epochs=5, ppo=PpoConfig(target_kl=1e-6))
    assert ppo(config).update(batch(), 1e-2)[names.EPOCHS] == 1
    assert (
        ppo(LearnerConfig(minibatch=32, epochs=5, ppo=PpoConfig(target_kl=0))).update(batch(), 1e-2)[names.EPOCHS] == 5
    )


def test_gradient_is_clipped_to_the_norm() -> None:
    algorithm = ppo(LearnerConfig(minibatch=128, epochs=1, max_grad_norm=0.01))
    numbers = algorithm.update(batch(), 1e-3)
    assert numbers[names.GRAD_NORM] > 0.01
    assert float(algorithm.weights.gradient.norm()) == pytest.approx(0.01, rel=1e-3)


def test_optimiser_goes_on_from_its_saved_state() -> None:
    first, second = ppo(), ppo()
    first.update(batch(0), 1e-3)
    second.weights.load(first.weights.numpy())
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    second.generator.set_state(first.generator.get_state())
    first.update(batch(1), 1e-3)
    second.update(batch(1), 1e-3)
    assert all(torch.equal(one, other) for one, other in zip(everything(first), everything(second), strict=True))


def test_minibatches_in_parts_give_the_weights_of_whole_ones() -> None:
    whole, accumulated = ppo(), ppo(LearnerConfig(minibatch=32, epochs=2, accumulate=4, ppo=PpoConfig(target_kl=0)))
    for seed in range(3):
        one, other = whole.update(batch(seed), 1e-3), accumulated.update(batch(seed), 1e-3)
        assert other == pytest.approx(one, abs=1e-6)
    assert torch.allclose(whole.weights.vector, accumulated.weights.vector, rtol=0, atol=1e-6)
