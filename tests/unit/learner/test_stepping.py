"""Steps as graphs against the same steps as single kernels. On the CPU, a "graph" is the function itself."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tests import rewarded
from tests.unit.games.showdown.net.test_pointer import showdown_spec
from tests.unit.learner import test_rnad
from tests.unit.policies.gpu.test_cuda import arrivals
from tests.unit.policies.test_waiting import NoWaiting
from torch import Tensor

from ludus.config.settings import (
    ComputeConfig,
    LearnerConfig,
    PolicyConfig,
    PpoConfig,
    PpoKlConfig,
    RnadConfig,
)
from ludus.games.registry import load, nets_of
from ludus.games.showdown.net import pointer, sums
from ludus.learner import algorithms
from ludus.learner.algorithms import AnyAlgorithm
from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.ppo import Ppo, PpoTargets
from ludus.learner.stepping import LAYOUTS, Steps
from ludus.metrics import names
from ludus.policies.gpu.streams import WARM_UPS, DirectStream, Run, Stream
from ludus.policies.nets import build
from ludus.rollout.segments import SegmentLayout
from ludus.types import SegmentBatch

CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
SPECS = {
    "mlp": rewarded.SPEC,
    "singles": showdown_spec(1, 2),
    "doubles": showdown_spec(2, 2),
    "doubles preview": showdown_spec(2, 2, preview=90),
}
CASES = [("mlp", name) for name in algorithms.ALGORITHMS]
CASES += [(net, name) for net in ("singles", "doubles", "doubles preview") for name in ("ppo", "ppo_kl", "vtrace")]
B, T = 8, 8


class WatchedStream(DirectStream):
    """Captures nothing, and refuses in a capture what no CUDA graph can contain."""

    def __init__(self) -> None:
        super().__init__()
        self.captures = 0

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        self.captures += 1

        def watched() -> None:
            with NoWaiting():  # type: ignore[no-untyped-call]  # torch leaves it untyped
                run()

        return watched


class RefusingStream(DirectStream):
    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")


def built(net: str, name: str, device: torch.device, graphs: bool, **settings: Any) -> AnyAlgorithm:
    spec = test_rnad.SPEC if name == "rnad" else SPECS[net]
    config = LearnerConfig(
        algorithm=name,
        minibatch=24,
        epochs=2,
        ppo=PpoConfig(target_kl=0),
        ppo_kl=PpoKlConfig(refresh=2, portfolio=2, result_share=0.5),
        rnad=RnadConfig(schedule=((2, 1), (3, 1)), target_share=0.2),
        compute=ComputeConfig(graphs=graphs),
        **settings,
    )
    kind = "mlp" if net == "mlp" else "pointer"
    made = build(spec, PolicyConfig(net=kind, width=16, context=16), "mlp", seed=1, game_nets=nets_of(load("showdown")))
    return algorithms.build(config, made, spec, torch.Generator().manual_seed(2), device)


def batch(net: str, name: str, seed: int, segments: int = B) -> SegmentBatch:
    if name == "rnad":
        return test_rnad.batch(seed)
    if net == "mlp":
        return rewarded.batch(seed)
    spec, random = SPECS[net], np.random.default_rng(seed)
    made = SegmentLayout(spec, segments, T).allocate()
    rows = arrivals(spec, segments * T, seed)
    made.obs[:], made.legal[:] = rows.obs.reshape(made.obs.shape), rows.legal.reshape(made.legal.shape)
    made.action[:] = rows.legal.argmax(1).reshape(made.action.shape)
    made.logp[:] = -1.5
    made.reward[:] = random.normal(size=made.reward.shape)
    made.ends[:] = random.random(made.ends.shape) < 0.1
    return made


def with_stream(algorithm: AnyAlgorithm, stream: Stream | None) -> AnyAlgorithm:
    algorithm._steps = Steps(algorithm.step, stream)
    return algorithm


def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def yes(device: torch.device) -> bool:
        return True

    monkeypatch.setattr(pointer, "scores_all", yes)
    monkeypatch.setattr(sums, "adds_atomically", yes)


@pytest.mark.parametrize(("net", "name"), CASES)
def test_graphs_wait_for_nothing_and_take_the_same_steps(
    net: str, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    as_on_a_gpu(monkeypatch)
    stream = WatchedStream()
    graphs, eager = (with_stream(built(net, name, CPU, False), each) for each in (stream, None))
    for seed in range(6):
        numbers, wanted = (algorithm.update(batch(net, name, seed), 1e-3 / (seed + 1)) for algorithm in (graphs, eager))
        assert numbers == wanted
    for mine, its in zip(graphs.state().items(), eager.state().items(), strict=True):
        assert mine[0] == its[0]
        assert torch.equal(mine[1], its[1])
    assert stream.captures >= 1
    assert caplog.text == ""  # else it would say why it was not captured


@pytest.mark.cuda
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(("net", "name"), CASES)
def test_graphs_on_cuda_learn_what_single_kernels_do(
    net: str, name: str, accumulate: int, caplog: pytest.LogCaptureFixture
) -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    graphs, eager = (built(net, name, device, on, accumulate=accumulate) for on in (True, False))
    assert graphs.optimiser.plan.graphs
    began = eager.weights.numpy().copy()
    for seed in range(6):
        numbers, wanted = (algorithm.update(batch(net, name, seed), 1e-3 / (seed + 1)) for algorithm in (graphs, eager))
        for key in (names.LOSS_TOTAL, names.ENTROPY, names.GRAD_NORM, names.NON_FINITE):
            assert numbers[key] == pytest.approx(wanted[key], rel=2e-3, abs=2e-3)
    apart, moved = (np.abs(eager.weights.numpy() - other).mean() for other in (graphs.weights.numpy(), began))
    assert apart < 2e-2 * moved
    assert graphs._steps._captured is not None
    assert caplog.text == ""


@pytest.mark.parametrize("device", DEVICES)
def test_an_update_that_is_not_finite_is_undone_and_the_next_one_learns(device: str) -> None:
    at = torch.device(device)
    algorithm = built("mlp", "ppo", at, True)
    if at == CPU:
        with_stream(algorithm, DirectStream())
    for seed in range(3):
        algorithm.update(rewarded.batch(seed), 1e-3)
    before = algorithm.weights.numpy().copy()
    spoiled = algorithm.update(rewarded.with_poison(rewarded.batch(3), "obs", float("nan")), 1e-3)
    assert spoiled[names.SKIPPED] == 1
    assert spoiled[names.NON_FINITE] > 0
    np.testing.assert_array_equal(algorithm.weights.numpy(), before)
    assert names.SKIPPED not in algorithm.update(rewarded.batch(4), 1e-3)
    assert not np.array_equal(algorithm.weights.numpy(), before)


def test_only_batches_of_a_size_that_came_before_are_captured_and_few_sizes_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    as_on_a_gpu(monkeypatch)
    stream = WatchedStream()
    algorithm = with_stream(built("singles", "ppo", CPU, False), stream)
    sizes = range(2, 2 + LAYOUTS + 2)
    for size in sizes:
        algorithm.update(batch("singles", "ppo", size, size), 1e-3)
    assert stream.captures == 0
    algorithm.update(batch("singles", "ppo", 1, sizes[0]), 1e-3)  # forgotten since
    assert stream.captures == 0
    algorithm.update(batch("singles", "ppo", 1, sizes[-1]), 1e-3)
    assert stream.captures > 0
    assert len(algorithm._steps._layouts) == LAYOUTS


def test_a_step_that_cannot_be_captured_is_taken_without_and_the_log_says_why_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused, eager = (with_stream(built("mlp", "ppo", CPU, False), each) for each in (RefusingStream(), None))
    with caplog.at_level(logging.WARNING):
        for seed in range(4):
            assert refused.update(rewarded.batch(seed), 1e-3) == eager.update(rewarded.batch(seed), 1e-3)
    assert torch.equal(refused.weights.vector, eager.weights.vector)
    (record,) = caplog.records
    assert record.getMessage().startswith("learner.compute.graphs: training continues without CUDA graphs, because")
    assert record.getMessage().endswith("cannot be captured: operation not permitted when stream is capturing")


class Sums(NamedTuple):
    factor: float
    each: Tensor


def steps_of(stream: Stream) -> tuple[Steps, list[float]]:
    factors: list[float] = []

    def step(minibatch: Minibatch, targets: Sums) -> Tensor:
        factors.append(targets.factor)
        return (targets.factor * targets.each[minibatch.at]).sum()[None]

    return Steps(step, stream), factors


def test_targets_are_read_anew_in_each_update_and_another_constant_is_another_graph() -> None:
    stream = WatchedStream()
    steps, _ = steps_of(stream)
    data = FlatBatch(rewarded.batch(), {}, torch.ones(128, 3, dtype=torch.bool))
    for update, factor in enumerate((1.0, 1.0, 1.0, 2.0, 2.0, 1.0)):
        each = torch.full((128,), float(update))
        steps.begin(data, Sums(factor, each))
        for begin in range(0, 128, 32):
            taken = steps.take(torch.arange(begin, begin + 32), whole_segments=False)
            assert taken.item() == 32 * update * factor
    assert stream.captures == 2


def test_targets_that_are_no_tuple_are_not_captured_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    stream = WatchedStream()
    steps = Steps(lambda minibatch, targets: targets["each"][minibatch.at].sum()[None], stream)
    data = FlatBatch(rewarded.batch(), {}, torch.ones(128, 3, dtype=torch.bool))
    for _ in range(3):
        steps.begin(data, {"each": torch.ones(128)})
        assert steps.take(torch.arange(32), whole_segments=False).item() == 32
    assert stream.captures == 0
    assert caplog.text.count("its targets are dict, not a named tuple") == 1


@pytest.mark.cuda
def test_a_loss_that_looks_at_its_numbers_is_learned_without_graphs(caplog: pytest.LogCaptureFixture) -> None:
    class Looking(Ppo):
        def loss(self, micro_batch: Minibatch, targets: PpoTargets) -> Any:  # Any: as Ppo's
            assert float(micro_batch.logp.mean()) < 0
            return super().loss(micro_batch, targets)

    device = torch.device("cuda", torch.cuda.current_device())
    config = LearnerConfig(minibatch=32, ppo=PpoConfig(target_kl=0))
    made: list[Ppo] = []
    for kind in (Looking, Ppo):
        net = build(rewarded.SPEC, PolicyConfig(width=8), "mlp", seed=1)
        made.append(kind(net, rewarded.SPEC, config, torch.Generator().manual_seed(2), device))
    for seed in range(4):
        one, other = (each.update(rewarded.batch(seed), 1e-3) for each in made)
        assert one[names.LOSS_TOTAL] == pytest.approx(other[names.LOSS_TOTAL], rel=1e-3, abs=1e-3)
    assert caplog.text.count("training continues without CUDA graphs") == 1
