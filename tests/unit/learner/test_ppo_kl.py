from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.rewarded import SPEC, batch
from torch import Tensor

from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig, PpoKlConfig
from ludus.errors import CheckpointError
from ludus.learner.ppo import Ppo
from ludus.learner.ppo_kl import PpoKl
from ludus.metrics import names
from ludus.policies.distributions import Categorical
from ludus.policies.nets import build


def learner(**settings: float) -> LearnerConfig:
    return LearnerConfig(
        algorithm="ppo_kl",
        minibatch=32,
        epochs=2,
        ppo=PpoConfig(target_kl=0),
        ppo_kl=PpoKlConfig(**settings),  # type: ignore[arg-type]  # whole ones are
    )


def made(config: LearnerConfig, kind: type[Ppo] = PpoKl) -> Ppo:
    net = build(SPEC, PolicyConfig(width=8), "mlp", seed=1)
    return kind(net, SPEC, config, torch.Generator().manual_seed(2), torch.device("cpu"))


def ppo_kl(**settings: float) -> PpoKl:
    algorithm = made(learner(**settings))
    assert isinstance(algorithm, PpoKl)
    return algorithm


def probabilities(algorithm: Ppo) -> Tensor:
    dist, _ = algorithm.net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    assert isinstance(dist, Categorical)
    return dist.log_probs.detach().exp()


def test_without_a_coefficient_it_is_ppo() -> None:
    held, plain = ppo_kl(coef=0.0), made(LearnerConfig(minibatch=32, epochs=2, ppo=PpoConfig(target_kl=0)), Ppo)
    for seed in range(3):
        held.update(batch(seed), 1e-3)
        plain.update(batch(seed), 1e-3)
    assert torch.equal(held.weights.vector, plain.weights.vector)


def test_the_larger_the_coefficient_the_nearer_it_stays() -> None:
    away = []
    for coef in (0.0, 1.0, 30.0):
        algorithm = ppo_kl(coef=coef, refresh=1000)
        before = probabilities(algorithm)
        for seed in range(30):
            numbers = algorithm.update(batch(seed), 3e-3)
        away.append(float((probabilities(algorithm) - before).abs().max()))
    assert away[0] > 1.2 * away[1] > 2 * away[2]
    assert 0 < numbers[names.REFERENCE_KL] < 0.01


def test_reported_divergence_is_that_of_the_definition() -> None:
    algorithm = ppo_kl(coef=0.0, refresh=1000)
    for seed in range(10):
        algorithm.update(batch(seed), 3e-3)
    algorithm.config = learner(coef=0.0)
    lessons = batch(99)
    numbers = algorithm.update(lessons, 1e-12)
    now = probabilities(algorithm).double()
    with torch.no_grad():
        near, _ = algorithm.portfolio[0].net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    assert isinstance(near, Categorical)
    by_state = (now * (now.log() - near.log_probs.double())).sum(1)
    shown = SPEC.obs.leaf(lessons.obs, "x").argmax(-1)
    assert numbers[names.REFERENCE_KL] == pytest.approx(float(by_state[shown].mean()), rel=1e-4)


def test_the_portfolio_keeps_the_latest_and_the_nearest_counts() -> None:
    algorithm = ppo_kl(coef=0.01, refresh=2, portfolio=3)
    kept, joined = [algorithm.weights.vector.clone()], []
    for seed in range(9):
        joined.append(algorithm.update(batch(seed), 3e-3)[names.REFERENCE_SWAPS])
        if joined[-1]:
            kept.append(algorithm.weights.vector.clone())
    assert joined == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert len(algorithm.portfolio) == 3
    for reference, vector in zip(algorithm.portfolio, kept[-3:], strict=True):
        assert torch.equal(reference.weights.vector, vector)
    assert torch.equal(algorithm._closest.weights.vector, kept[-1])  # it has moved away from the others since
    algorithm.weights.load(kept[-3].numpy())
    algorithm.update(batch(9), 1e-12)
    assert torch.equal(algorithm._closest.weights.vector, kept[-3])


@pytest.mark.parametrize("portfolio", [1, 3])
def test_it_goes_on_from_its_saved_state(portfolio: int) -> None:
    first, second = (ppo_kl(coef=0.5, refresh=2, portfolio=portfolio) for _ in range(2))
    for seed in range(5):
        first.update(batch(seed), 1e-3)
    second.weights.load(first.weights.numpy())
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    second.generator.set_state(first.generator.get_state())
    for seed in range(5, 9):
        assert first.update(batch(seed), 1e-3) == second.update(batch(seed), 1e-3)
    assert torch.equal(first.weights.vector, second.weights.vector)
    assert first.state().keys() == second.state().keys()


def flat(net: torch.nn.Module) -> Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in net.parameters()])


def test_a_run_may_result_in_a_net_that_follows_the_one_that_learns() -> None:
    plain, followed = ppo_kl(), ppo_kl(result_share=0.25)
    assert plain.result is plain.net
    expected = flat(followed.net).clone()
    for seed in range(4):
        plain.update(batch(seed), 1e-3)
        followed.update(batch(seed), 1e-3)
        expected += 0.25 * (flat(followed.net) - expected)
        assert torch.allclose(flat(followed.result), expected, atol=1e-7)
    assert torch.equal(flat(plain.net), flat(followed.net))


def test_a_run_whose_result_follows_goes_on_from_a_checkpoint_that_has_the_result_to_play_with() -> None:
    first, second = (ppo_kl(refresh=2, result_share=0.25) for _ in range(2))
    for seed in range(3):
        first.update(batch(seed), 1e-3)
    second.net.load_state_dict(first.result.state_dict())
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    second.generator.set_state(first.generator.get_state())
    for seed in range(3, 6):
        assert first.update(batch(seed), 1e-3) == second.update(batch(seed), 1e-3)
    assert torch.equal(flat(first.result), flat(second.result))
    with pytest.raises(CheckpointError, match=r"lacks result\."):
        second.load_state(ppo_kl().state())


def test_an_update_that_went_wrong_counts_for_nothing() -> None:
    algorithm = ppo_kl(refresh=1, portfolio=5)
    poisoned = batch(1)
    poisoned.reward[3, 4] = np.nan
    assert names.SKIPPED in algorithm.update(poisoned, 1e-3)
    assert len(algorithm.portfolio) == 1
    algorithm.update(batch(2), 1e-3)
    assert len(algorithm.portfolio) == 2


def test_a_checkpoint_of_another_algorithm_is_refused() -> None:
    with pytest.raises(CheckpointError, match="by another algorithm than ppo_kl"):
        ppo_kl().load_state(made(LearnerConfig(), Ppo).state())
