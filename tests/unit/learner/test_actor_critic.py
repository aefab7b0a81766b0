from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.rewarded import LENGTH, SEGMENTS, SPEC, batch, with_poison

from ludus.config.settings import ComputeConfig, LearnerConfig, PolicyConfig, ReplayConfig, RolloutConfig, VtraceConfig
from ludus.errors import ConfigError
from ludus.learner import algorithms
from ludus.learner.actor_critic import ActorCritic
from ludus.metrics import names
from ludus.policies.nets import build

CONFIG = LearnerConfig(algorithm="vtrace", minibatch=32, epochs=1)


def actor_critic(config: LearnerConfig = CONFIG) -> ActorCritic:
    net = build(SPEC, PolicyConfig(width=8), "mlp", seed=1)
    made = algorithms.build(config, net, SPEC, torch.Generator().manual_seed(2), torch.device("cpu"))
    assert isinstance(made, ActorCritic)
    return made


def everything(algorithm: ActorCritic) -> list[torch.Tensor]:
    return [algorithm.weights.vector.clone(), *(tensor.clone() for tensor in algorithm.state().values())]


def test_update_makes_rewarded_actions_more_likely_and_reports_finite_numbers() -> None:
    algorithm = actor_critic()
    for seed in range(30):
        numbers = algorithm.update(batch(seed), 3e-3)
    assert numbers.keys() >= {names.LOSS_POLICY, names.LOSS_VALUE, names.ENTROPY, names.KL, names.RHO, names.LR}
    assert all(np.isfinite(value) for value in numbers.values())
    assert numbers[names.EXPLAINED_VARIANCE] > 0.2
    said, _ = algorithm.net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    assert said.best().tolist() == [0, 1, 2]


def test_same_batches_give_bit_equal_weights() -> None:
    first, second = actor_critic(), actor_critic()
    for seed in range(3):
        first.update(batch(seed), 1e-3)
        second.update(batch(seed), 1e-3)
    assert all(torch.equal(one, other) for one, other in zip(everything(first), everything(second), strict=True))


def test_each_epoch_takes_a_step_for_every_minibatch_of_whole_segments() -> None:
    algorithm = actor_critic(LearnerConfig(algorithm="vtrace", minibatch=40, epochs=3))  # 5 segments of 8
    algorithm.update(batch(), 1e-3)
    assert int(algorithm.state()["step"]) == 3 * 4


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["reward", "obs", "logp"])
def test_loss_that_is_not_finite_leaves_weights_and_optimiser_untouched(field: str, poison: float) -> None:
    algorithm = actor_critic()
    algorithm.update(batch(0), 1e-3)
    before = everything(algorithm)
    poisoned = with_poison(batch(1), field, poison)
    assert algorithm.update(poisoned, 1e-3)[names.SKIPPED] == 1.0
    assert all(torch.equal(one, other) for one, other in zip(before, everything(algorithm), strict=True))
    assert names.SKIPPED not in algorithm.update(batch(2), 1e-3)


def gradient(values: float) -> torch.Tensor:
    """Of one update by a batch whose matches go on, and whose decisions somebody else had judged like this."""
    config = LearnerConfig(algorithm="vtrace", minibatch=SEGMENTS * LENGTH, epochs=1, max_grad_norm=1e9)
    algorithm, judged = actor_critic(config), batch()
    judged.ends[:] = False
    judged.value[:] = values
    judged.next_value[:] = values
    assert names.SKIPPED not in algorithm.update(judged, 1e-3)
    return algorithm.weights.gradient.clone()


def test_a_minibatch_in_micro_batches_gives_the_step_of_the_whole() -> None:
    """The micro-batches hold different shares of decisions that are learned from."""
    whole, accumulated = (
        actor_critic(LearnerConfig(algorithm="vtrace", minibatch=SEGMENTS * LENGTH, epochs=1, accumulate=accumulate))
        for accumulate in (1, 4)
    )
    uneven = batch()
    uneven.ends[:] = np.random.default_rng(3).random(uneven.ends.shape) < 0.3
    uneven.ends[:4, -1] = False
    numbers, in_micro_batches = whole.update(uneven, 1e-3), accumulated.update(uneven, 1e-3)
    torch.testing.assert_close(whole.weights.gradient, accumulated.weights.gradient, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(whole.weights.vector, accumulated.weights.vector, rtol=1e-5, atol=1e-6)
    for name in (names.LOSS_TOTAL, names.LOSS_VALUE, names.RHO, names.GRAD_NORM):
        assert numbers[name] == pytest.approx(in_micro_batches[name], rel=1e-4)


def test_it_learns_in_bfloat16_as_well() -> None:
    compute = ComputeConfig(precision="bf16")
    algorithm = actor_critic(LearnerConfig(algorithm="vtrace", minibatch=32, epochs=1, compute=compute))
    for seed in range(30):
        assert names.SKIPPED not in algorithm.update(batch(seed), 3e-3)
    said, _ = algorithm.net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    assert said.best().tolist() == [0, 1, 2]


def test_old_judgements_teach_nothing_neither_of_decisions_nor_of_what_came_after_the_segment() -> None:
    assert float(gradient(0.0).norm()) > 0
    assert torch.equal(gradient(0.0), gradient(7.0))


def test_decisions_that_the_policy_would_hardly_take_now_count_little() -> None:
    sure = batch()
    sure.logp[:] = 0.0
    algorithm = actor_critic()
    assert algorithm.update(batch(), 1e-9)[names.RHO] > 0.7
    assert algorithm.update(sure, 1e-9)[names.RHO] < 0.6


@pytest.mark.parametrize("rho_bar", [1.0, 3.0])
def test_ratios_are_clipped_at_rho_bar(rho_bar: float) -> None:
    unlikely = batch()
    unlikely.logp[:] = -5.0
    algorithm = actor_critic(LearnerConfig(algorithm="vtrace", minibatch=32, vtrace=VtraceConfig(rho_bar=rho_bar)))
    numbers = algorithm.update(unlikely, 1e-9)
    assert numbers[names.RHO] == pytest.approx(rho_bar)
    assert numbers[names.CLIP_SHARE] == 1.0


def test_segments_of_one_decision_are_refused() -> None:
    algorithms.refuse_unfit(CONFIG, RolloutConfig(segment=2))
    algorithms.refuse_unfit(LearnerConfig(), RolloutConfig(segment=1))
    with pytest.raises(ConfigError, match=r"rollout\.segment: 1 is too short .*; at least 2"):
        algorithms.refuse_unfit(CONFIG, RolloutConfig(segment=1))


def test_replay_is_refused_where_advantages_are_of_the_policy_that_chose_and_where_it_holds_no_batch() -> None:
    replay = ReplayConfig(decisions=5000)
    algorithms.refuse_unfit(LearnerConfig(algorithm="vtrace", replay=replay), RolloutConfig())
    with pytest.raises(ConfigError, match=r"learner\.replay\.decisions: 5000 cannot .*algorithm: ppo, .*; use vtrace"):
        algorithms.refuse_unfit(LearnerConfig(replay=replay), RolloutConfig())
    with pytest.raises(ConfigError, match=r"learner\.replay\.decisions: 5000 is less .* learner\.decisions \(5001\)"):
        algorithms.refuse_unfit(LearnerConfig(algorithm="vtrace", replay=replay, decisions=5001), RolloutConfig())
