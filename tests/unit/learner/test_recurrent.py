"""Learning through a recurrent layer, against a loss worked out decision by decision, match by match."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from msgspec import convert
from tests.cells import matches, written_out
from torch import Tensor

from ludus.config.settings import LearnerConfig, PolicyConfig, PpoConfig, PpoKlConfig, RecurrentConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner.actor_critic import ActorCritic
from ludus.learner.algorithms import ALGORITHMS, find
from ludus.learner.batch import Intake
from ludus.learner.ppo import Ppo
from ludus.learner.ppo_kl import PpoKl
from ludus.learner.recurrent_checks import refuse_unfit
from ludus.learner.returns import gae
from ludus.metrics import names
from ludus.policies.nets import build
from ludus.policies.nets.mlp import MlpNet
from ludus.policies.nets.recurrence import state_size
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 3, ObsSpec.pack({"x": ("float32", (3,))}), 1)
B, T = 6, 9
CONFIG = LearnerConfig(minibatch=B * T, epochs=1, max_grad_norm=1e9, entropy_coef=0.02, ppo=PpoConfig(target_kl=0))
GENERATOR = torch.Generator().manual_seed(0)


def recurrent_of(kind: str, sequence_length: int, burn_in: int) -> RecurrentConfig:
    return RecurrentConfig("lstm" if kind == "lstm" else "gru", 4, sequence_length, burn_in)


def net_of(recurrent: RecurrentConfig) -> MlpNet:
    net = build(SPEC, PolicyConfig(width=2, recurrent=recurrent), "mlp", seed=1)
    assert isinstance(net, MlpNet)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) / 5)
    return net


def ppo(recurrent: RecurrentConfig, config: LearnerConfig = CONFIG) -> Ppo:
    return Ppo(net_of(recurrent), SPEC, config, torch.Generator().manual_seed(2), torch.device("cpu"))


def batch_of(recurrent: RecurrentConfig, seed: int = 0) -> SegmentBatch:
    random = np.random.default_rng(seed)
    filled = SegmentLayout(SPEC, B, T, state_size(recurrent)).allocate()
    SPEC.obs.leaf(filled.obs, "x")[:] = random.normal(size=(B, T, 3))
    filled.action[:] = random.integers(0, 3, (B, T))
    filled.legal[:] = random.random((B, T, 3)) < 0.6
    np.put_along_axis(filled.legal, filled.action[..., None], True, axis=2)
    filled.logp[:] = np.log(random.uniform(0.2, 1, (B, T)))
    filled.value[:] = random.normal(size=(B, T))
    filled.reward[:] = random.normal(size=(B, T))
    filled.next_value[:] = random.normal(size=B)
    filled.opens[:] = random.random((B, T)) < 0.25
    filled.ends[:, :-1] = filled.opens[:, 1:]
    filled.hidden_state[:] = random.normal(size=filled.hidden_state.shape)
    return filled


def reference_loss(
    net: MlpNet, batch: SegmentBatch, recurrent: RecurrentConfig, config: LearnerConfig = CONFIG
) -> Tensor:
    advantage, returns = gae(
        batch.reward, batch.value, batch.next_value, batch.ends, batch.final_value,
        gamma=config.gamma, gae_lambda=config.ppo.gae_lambda,
    )  # fmt: skip
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    x = torch.from_numpy(SPEC.obs.leaf(batch.obs, "x").copy())
    assert net.core is not None
    losses = []
    for b, opens in enumerate(batch.opens.tolist()):
        for match in matches(opens):
            goes_on = not opens[match[0]]
            state = torch.from_numpy(batch.hidden_state[b]) if goes_on else torch.zeros(net.core.size)
            burned = min(recurrent.burn_in, len(match)) if goes_on else 0
            for place, t in enumerate(match):
                if place <= burned or (place - burned) % recurrent.sequence_length == 0:
                    state = state.detach()
                context, state = written_out(net.core, net.body(x[b, t]), state)
                if place < burned:
                    continue
                legal = np.flatnonzero(batch.legal[b, t])
                logp = net.policy(context)[legal].log_softmax(0)
                ratio = (logp[legal.tolist().index(int(batch.action[b, t]))] - float(batch.logp[b, t])).exp()
                gain = float(advantage[b, t])
                surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - config.ppo.clip, 1 + config.ppo.clip) * gain)
                error = (net.value(context)[0] - float(returns[b, t])).square()
                entropy = -(logp.exp() * logp).sum()
                losses.append(-surrogate + config.value_coef * error - config.entropy_coef * entropy)
    return torch.stack(losses).mean()


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize(("sequence_length", "burn_in"), [(9, 0), (4, 0), (1, 0), (9, 3), (3, 2)])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_loss_and_gradient_are_those_of_matches_learned_decision_by_decision(
    kind: str, sequence_length: int, burn_in: int, accumulate: int
) -> None:
    recurrent = recurrent_of(kind, sequence_length, burn_in)
    batch = batch_of(recurrent)
    net = net_of(recurrent)
    expected = reference_loss(net, batch, recurrent)
    gradients = torch.autograd.grad(expected, list(net.parameters()))
    config = LearnerConfig(
        minibatch=B * T,
        epochs=1,
        max_grad_norm=1e9,
        entropy_coef=0.02,
        accumulate=accumulate,
        ppo=PpoConfig(target_kl=0),
    )
    algorithm = ppo(recurrent, config)
    numbers = algorithm.update(batch, 1e-9)
    assert numbers[names.LOSS_TOTAL] == pytest.approx(float(expected.detach()), rel=1e-5, abs=1e-5)
    found = algorithm.weights.split(algorithm.weights.gradient)
    for (name, _), gradient in zip(net.named_parameters(), gradients, strict=True):
        torch.testing.assert_close(found[name], gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.cuda
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_cuda_device_finds_the_same_loss_and_gradient(kind: str) -> None:
    recurrent = recurrent_of(kind, 4, 2)
    batch, net = batch_of(recurrent), net_of(recurrent)
    expected = reference_loss(net, batch, recurrent)
    gradients = torch.autograd.grad(expected, list(net.parameters()))
    generator = torch.Generator().manual_seed(2)
    algorithm = Ppo(net_of(recurrent), SPEC, CONFIG, generator, torch.device("cuda"))
    numbers = algorithm.update(batch, 1e-9)
    assert numbers[names.LOSS_TOTAL] == pytest.approx(float(expected.detach()), rel=1e-2, abs=1e-3)  # cuDNN has TF32
    found = algorithm.weights.split(algorithm.weights.gradient)
    for (name, _), gradient in zip(net.named_parameters(), gradients, strict=True):
        torch.testing.assert_close(found[name].cpu(), gradient, rtol=1e-2, atol=3e-3)


def test_minibatches_are_whole_segments_and_every_decision_comes_once() -> None:
    recurrent = recurrent_of("gru", 4, 0)
    data = Intake(net_of(recurrent), SPEC, torch.device("cpu"), 16).take(batch_of(recurrent))
    seen = [minibatch.at for minibatch in data.minibatches(torch.Generator().manual_seed(0), 20)]
    assert [len(at) for at in seen] == [2 * T] * 3
    assert all((at.view(2, T) % T == torch.arange(T)).all() for at in seen)
    assert sorted(torch.cat(seen).tolist()) == list(range(B * T))


def test_what_was_taken_stays_when_the_batch_is_filled_anew() -> None:
    recurrent = recurrent_of("lstm", 9, 0)
    algorithm, batch = ppo(recurrent), batch_of(recurrent)
    data = Intake(algorithm.net, SPEC, torch.device("cpu"), 16).take(batch)
    (minibatch,) = data.in_order(B * T)
    with torch.no_grad():
        before = minibatch.outputs(algorithm.net)[1].expected
        batch.hidden_state[:], batch.opens[:] = 9.0, True
        (again,) = data.in_order(B * T)
        torch.testing.assert_close(again.outputs(algorithm.net)[1].expected, before, rtol=0, atol=0)


def test_ppo_that_stays_near_a_policy_is_ppo_where_that_costs_nothing() -> None:
    recurrent = recurrent_of("gru", 4, 2)
    found = []
    for coef in (0.0, 1.0):
        config = msgspec.structs.replace(CONFIG, algorithm="ppo_kl", ppo_kl=PpoKlConfig(coef=coef))
        algorithm = PpoKl(net_of(recurrent), SPEC, config, torch.Generator().manual_seed(2), torch.device("cpu"))
        for seed in range(3):
            numbers = algorithm.update(batch_of(recurrent, seed), 1e-2)
        assert numbers[names.REFERENCE_KL] > 0
        found.append(algorithm.weights.vector.clone())
    plain = ppo(recurrent)
    for seed in range(3):
        plain.update(batch_of(recurrent, seed), 1e-2)
    torch.testing.assert_close(found[0], plain.weights.vector, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found[1], plain.weights.vector, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("burn_in", [0, 3])
def test_vtrace_learns_from_a_segment_what_comes_after_its_burn_in(burn_in: int) -> None:
    recurrent = recurrent_of("gru", 9, burn_in)
    gradients = []
    for reward in (1.0, -1.0):
        batch = batch_of(recurrent)
        batch.opens[:] = batch.ends[:] = False
        batch.reward[:, :3] = reward
        algorithm = ActorCritic(
            net_of(recurrent), SPEC, msgspec.structs.replace(CONFIG, algorithm="vtrace"), GENERATOR, torch.device("cpu")
        )
        algorithm.update(batch, 1e-9)
        gradients.append(algorithm.weights.gradient.clone())
    assert torch.isfinite(gradients[0]).all()
    assert gradients[0].any()
    assert torch.allclose(gradients[0], gradients[1]) == bool(burn_in)


def test_the_share_of_decisions_that_only_refresh_a_memory_is_told() -> None:
    recurrent = recurrent_of("gru", 9, 3)
    batch = batch_of(recurrent)
    batch.opens[:] = False
    assert ppo(recurrent).update(batch, 1e-3)[names.BURNED_IN] == pytest.approx(3 / T)
    batch.opens[:, 0] = True
    assert names.BURNED_IN not in ppo(recurrent).update(batch, 1e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_algorithm_that_cannot_learn_with_a_memory_is_refused_one(algorithm: str) -> None:
    learner = convert({"algorithm": algorithm}, LearnerConfig)
    refuse_unfit(RecurrentConfig(), learner, RolloutConfig())
    if find(algorithm).recurrent:
        refuse_unfit(RecurrentConfig("gru"), learner, RolloutConfig())
    else:
        with pytest.raises(
            ConfigError, match=rf"policy.recurrent.kind: gru .*algorithm: {algorithm}; accepted is none"
        ):
            refuse_unfit(RecurrentConfig("gru"), learner, RolloutConfig())


@pytest.mark.parametrize(
    ("recurrent", "said"),
    [
        (RecurrentConfig("lstm", sequence_length=9), "policy.recurrent.sequence_length: 9 .* accepted are 1 to 8"),
        (RecurrentConfig("lstm", sequence_length=8, burn_in=8), "policy.recurrent.burn_in: 8 .* accepted are 0 to 7"),
    ],
)
def test_a_memory_that_does_not_fit_the_segments_is_refused(recurrent: RecurrentConfig, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        refuse_unfit(recurrent, LearnerConfig(), RolloutConfig(segment=8))
    refuse_unfit(RecurrentConfig("lstm", sequence_length=8, burn_in=7), LearnerConfig(), RolloutConfig(segment=8))
