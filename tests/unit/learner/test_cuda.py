"""Whole updates on a CUDA device by the settings of learner.compute, against the plain ones there and on the CPU."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from tests import rewarded
from tests.unit.policies.nets.test_lists import SPEC as DUEL
from tests.unit.policies.nets.test_transformer import SPEC as CARDS

from ludus.config.settings import ComputeConfig, LearnerConfig, PolicyConfig, PpoConfig
from ludus.learner.ppo import Ppo
from ludus.metrics import names
from ludus.policies.nets import build
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

pytestmark = pytest.mark.cuda

NETS = {
    "mlp": (rewarded.SPEC, PolicyConfig(width=8)),
    "entities": (DUEL, PolicyConfig(net="entities", width=16, context=16)),
    "transformer": (CARDS, PolicyConfig(net="transformer", width=16, context=16)),
}
LR = 1e-3


def ppo(net: str, compute: ComputeConfig, device: str = "cuda", *, accumulate: int = 1) -> Ppo:
    spec, policy = NETS[net]
    config = LearnerConfig(minibatch=32, epochs=2, accumulate=accumulate, compute=compute, ppo=PpoConfig(target_kl=0))
    return Ppo(build(spec, policy, "mlp", seed=1), spec, config, torch.Generator().manual_seed(2), torch.device(device))


def batch(spec: GameSpec, seed: int) -> SegmentBatch:
    if spec is rewarded.SPEC:
        return rewarded.batch(seed)
    random = np.random.default_rng(seed)
    made = SegmentLayout(spec, 6, 16).allocate()
    for leaf in spec.obs.leaves:
        values = random.integers(0, 2 if leaf.unit < 1 else 4, (6, 16, *leaf.shape)) / leaf.unit
        spec.obs.leaf(made.obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
    made.legal[:] = True
    made.action[:] = random.integers(0, spec.actions, made.action.shape)
    made.logp[:] = -np.log(spec.actions)
    made.reward[:] = random.normal(size=made.reward.shape)
    made.ends[:] = random.random(made.ends.shape) < 0.1
    return made


@pytest.mark.parametrize("net", list(NETS))
def test_updates_from_page_locked_memory_are_those_of_the_cpu(net: str) -> None:
    pinned, on_cpu = ppo(net, ComputeConfig(pinned=True)), ppo(net, ComputeConfig(), "cpu")
    assert pinned.optimiser.plan.pinned
    for seed in range(4):
        numbers, wanted = (algorithm.update(batch(NETS[net][0], seed), LR) for algorithm in (pinned, on_cpu))
        assert numbers[names.LOSS_TOTAL] == pytest.approx(wanted[names.LOSS_TOTAL], rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(pinned.weights.numpy(), on_cpu.weights.numpy(), rtol=1e-2, atol=5e-4)


@pytest.mark.filterwarnings("ignore")  # of torch's own code, when it compiles
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("net", list(NETS))
def test_updates_by_compiled_graphs_are_those_of_the_operations(
    net: str, precision: str, caplog: pytest.LogCaptureFixture
) -> None:
    torch._dynamo.reset()
    compute = ComputeConfig(precision=precision, graphs=False)  # type: ignore[arg-type]  # one of the words it takes
    captured = ComputeConfig(precision=compute.precision, compile=True, graphs=True, pinned=True)
    by_graphs, plain = ppo(net, captured, accumulate=2), ppo(net, compute)
    assert by_graphs.optimiser.plan.graphs == (precision != "fp16")
    assert not plain.optimiser.plan.graphs
    near = 1e-3 if precision == "fp32" else 3e-2
    began = plain.weights.numpy()
    with caplog.at_level(logging.WARNING):
        for seed in range(4):
            numbers, wanted = (algorithm.update(batch(NETS[net][0], seed), LR) for algorithm in (by_graphs, plain))
            assert numbers[names.LOSS_TOTAL] == pytest.approx(wanted[names.LOSS_TOTAL], rel=near, abs=near)
    assert not caplog.records  # else it would say why it went on without
    away, moved = (np.abs(plain.weights.numpy() - other).mean() for other in (by_graphs.weights.numpy(), began))
    assert away < moved * (1e-2 if precision == "fp32" else 0.3)  # Adam makes much of a little that was rounded


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_updates_in_lower_precision_find_the_rewarded_actions(precision: str) -> None:
    algorithm = ppo("mlp", ComputeConfig(precision=precision))  # type: ignore[arg-type]  # one of the words it takes
    for seed in range(20):
        numbers = algorithm.update(rewarded.batch(seed), 3e-3)
    assert all(np.isfinite(value) for value in numbers.values())
    said, _ = algorithm.net({"x": torch.eye(3, device="cuda")}, torch.ones(3, 3, dtype=torch.bool, device="cuda"))
    assert said.best().tolist() == [0, 1, 2]
