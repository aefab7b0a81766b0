from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from ludus.config.settings import LearnerConfig, PolicyConfig, RnadConfig, RolloutConfig
from ludus.errors import CheckpointError, ConfigError
from ludus.learner import algorithms
from ludus.learner.batch import Minibatch
from ludus.learner.ppo import Ppo
from ludus.learner.rnad import Rnad
from ludus.metrics import names
from ludus.policies.distributions import Pairs
from ludus.policies.nets import build
from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Recall
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 2, 3, ObsSpec.pack({"x": ("float32", (3,))}), 1)
CONFIG = LearnerConfig(
    algorithm="rnad", minibatch=32, epochs=2, rnad=RnadConfig(schedule=((2, 1), (3, 1)), target_share=0.2)
)
B, T = 16, 8


def rnad(config: LearnerConfig = CONFIG, spec: GameSpec = SPEC) -> Rnad:
    net = build(spec, PolicyConfig(width=8), "mlp", seed=1)
    return Rnad(net, spec, config, torch.Generator().manual_seed(2), torch.device("cpu"))


def batch(seed: int = 0) -> SegmentBatch:
    """Matches of one decision each: seat 0 earns 1 by the action that x shows, seat 1 by any other."""
    random = np.random.default_rng(seed)
    filled = SegmentLayout(SPEC, B, T, interleaved=True).allocate()
    shown = random.integers(0, 3, (B, T))
    SPEC.obs.leaf(filled.obs, "x")[:] = np.eye(3, dtype=np.float32)[shown]
    filled.legal[:] = True
    filled.action[:] = random.integers(0, 3, (B, T))
    filled.logp[:] = -np.log(3)
    filled.reward[:] = filled.action == shown
    filled.opens[:] = filled.ends[:] = filled.learns[:] = True
    return filled


def everything(algorithm: Rnad) -> list[torch.Tensor]:
    return [algorithm.weights.vector.clone(), *(tensor.clone() for tensor in algorithm.state().values())]


def equal(one: Rnad, other: Rnad) -> bool:
    return all(torch.equal(a, b) for a, b in zip(everything(one), everything(other), strict=True))


def test_update_makes_rewarded_actions_more_likely_and_reports_finite_numbers() -> None:
    algorithm = rnad()
    for seed in range(20):
        numbers = algorithm.update(batch(seed), 3e-3)
    assert numbers.keys() >= {names.LOSS_POLICY, names.LOSS_VALUE, names.ENTROPY, names.REFERENCE_KL, names.LR}
    assert all(np.isfinite(value) for value in numbers.values())
    said, _ = algorithm.net({"x": torch.eye(3)}, torch.ones(3, 3, dtype=torch.bool))
    assert said.best().tolist() == [0, 1, 2]


def test_a_seat_that_must_pay_more_stays_nearer_to_the_regularisation_policy() -> None:
    near, far = (
        rnad(LearnerConfig(algorithm="rnad", minibatch=32, rnad=RnadConfig(eta=eta, schedule=((1000, 1),))))
        for eta in (5.0, 0.05)
    )
    for seed in range(30):
        numbers = [algorithm.update(batch(seed), 3e-3)[names.REFERENCE_KL] for algorithm in (near, far)]
    assert 0 <= numbers[0] < 0.2 * numbers[1]


def test_only_decisions_that_learn_are_learned_from_and_counted() -> None:
    plain, more = batch(0), batch(0)
    plain.learns[:, ::2] = more.learns[:, ::2] = False
    more.reward[:, ::2] = 50.0  # of matches of their own, which nobody learns from
    one, other = rnad(), rnad()
    assert one.update(plain, 1e-3)[names.LEARNED] == B * T / 2
    other.update(more, 1e-3)
    assert equal(one, other)


def test_the_target_follows_and_becomes_the_regularisation_policy_when_the_schedule_says_so() -> None:
    algorithm = rnad()
    began = algorithm.weights.vector.clone()
    swaps, targets = [], []
    for seed in range(8):
        swaps.append(algorithm.update(batch(seed), 1e-3)[names.REFERENCE_SWAPS])
        targets.append(algorithm.target.weights.vector.clone())
        assert not torch.equal(targets[-1], algorithm.weights.vector)
        if seed == 1:
            assert torch.equal(algorithm.regularisation.weights.vector, targets[1])
            assert torch.equal(algorithm.before.weights.vector, began)
    assert swaps == [0, 1, 0, 0, 1, 0, 0, 1]
    assert torch.equal(algorithm.regularisation.weights.vector, targets[7])
    assert torch.equal(algorithm.before.weights.vector, targets[4])


def test_policies_are_post_processed_in_the_returns_from_the_update_that_is_named() -> None:
    plain, tuned = (
        rnad(LearnerConfig(algorithm="rnad", minibatch=32, rnad=RnadConfig(finetune_from=start, threshold=0.3)))
        for start in (0, 2)
    )
    same = []
    for seed in range(4):
        for algorithm in (plain, tuned):
            algorithm.update(batch(seed), 3e-3)
        same.append(torch.equal(plain.weights.vector, tuned.weights.vector))
    assert same == [True, True, False, False]


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["reward", "obs"])
def test_loss_that_is_not_finite_leaves_all_weights_untouched(field: str, poison: float) -> None:
    algorithm = rnad()
    algorithm.update(batch(0), 1e-3)
    before = everything(algorithm)
    poisoned = batch(1)
    if field == "obs":
        SPEC.obs.leaf(poisoned.obs, "x")[3, 4] = poison
    else:
        poisoned.reward[3, 4] = poison
    assert names.SKIPPED in algorithm.update(poisoned, 1e-3)
    assert all(torch.equal(one, other) for one, other in zip(before, everything(algorithm), strict=True))
    assert names.SKIPPED not in algorithm.update(batch(2), 1e-3)


def test_it_goes_on_from_its_saved_state_over_a_swap() -> None:
    first, second = rnad(), rnad()
    for seed in range(3):
        first.update(batch(seed), 1e-3)
    second.weights.load(first.target.weights.numpy())  # which a checkpoint keeps as the run's net
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    second.generator.set_state(first.generator.get_state())
    for seed in range(3, 6):
        assert first.update(batch(seed), 1e-3) == second.update(batch(seed), 1e-3)
    assert equal(first, second)


def test_a_checkpoint_of_another_algorithm_is_refused() -> None:
    net = build(SPEC, PolicyConfig(width=8), "mlp", seed=1)
    other = Ppo(net, SPEC, LearnerConfig(), torch.Generator(), torch.device("cpu"))
    with pytest.raises(CheckpointError, match="by another algorithm than rnad"):
        rnad().load_state(other.state())


def test_gradients_of_parts_sum_to_those_of_the_whole() -> None:
    config = LearnerConfig(algorithm="rnad", minibatch=128, epochs=1)
    whole, accumulated = rnad(config), rnad(LearnerConfig(algorithm="rnad", minibatch=128, epochs=1, accumulate=4))
    lessons = batch(3)
    lessons.learns[::2, ::3] = False
    whole.update(lessons, 1e-3)
    accumulated.update(lessons, 1e-3)
    assert torch.allclose(whole.weights.gradient, accumulated.weights.gradient, atol=1e-6)


def test_what_it_is_not_defined_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="rnad is for two seats, but fake has 4"):
        rnad(spec=GameSpec("fake", 4, 3, SPEC.obs, 1))
    with pytest.raises(ConfigError, match=r"rollout\.segment: 3 is too short for learner\.algorithm: rnad.*at least 4"):
        algorithms.refuse_unfit(CONFIG, RolloutConfig(segment=3))
    algorithms.refuse_unfit(CONFIG, RolloutConfig(segment=4))


class Joint(Net):
    """Chooses slot by slot."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = torch.nn.Linear(3, 2)

    def outputs(
        self, inputs: Mapping[str, torch.Tensor], legal: torch.Tensor, recall: Recall | None = None
    ) -> tuple[Pairs, torch.Tensor]:
        said = self.scores(inputs["x"])
        return Pairs(said, lambda first, may: said, legal, Pairs.first_choices(legal, 2)), said[:, 0]


def test_nets_without_the_probability_of_every_action_are_refused() -> None:
    spec = GameSpec("doubles", 2, 4, SPEC.obs, 1)
    with pytest.raises(ConfigError, match="in doubles the net chooses joint actions slot by slot; use ppo_kl"):
        Rnad(Joint(), spec, CONFIG, torch.Generator(), torch.device("cpu"))


def test_a_reference_that_gives_no_probabilities_is_an_error_and_not_taken_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zeros = torch.zeros(1, 2)
    pairs = Pairs(zeros, lambda first, may: zeros, torch.ones(1, 4, dtype=torch.bool), zeros == 0)
    monkeypatch.setattr(Minibatch, "outputs", lambda minibatch, net: (pairs, zeros[:, 0]))
    with pytest.raises(TypeError, match="needs the probability of every action, but the net returned Pairs"):
        rnad().update(batch(), 1e-3)
