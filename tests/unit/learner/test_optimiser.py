from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch._inductor import config as inductor

from ludus.config.settings import ComputeConfig, LearnerConfig
from ludus.learner.optimiser import Measured, Optimiser
from ludus.policies.distributions import Categorical
from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Recall

CPU = torch.device("cpu")
LR = 1e-2
ROWS, WIDTH = 24, 5


@dataclass(frozen=True)
class Rows:
    x: Tensor  # [n, WIDTH]
    y: Tensor  # [n]

    @property
    def decisions(self) -> int:
        return len(self.x)

    def split(self, count: int) -> list[Rows]:
        return [Rows(x, y) for x, y in zip(self.x.tensor_split(count), self.y.tensor_split(count), strict=True)]


def rows(seed: int, n: int = ROWS) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    return Rows(torch.randn(n, WIDTH, generator=generator), torch.randn(n, generator=generator))


class Regression(Net):
    """Predicts y as the value of a row; its one action has probability 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, 1))

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        value = self.layers(inputs["x"])
        return Categorical(torch.zeros_like(value), legal), value.squeeze(1)


class Fit:
    """Learns y from x with squared error times a factor; a whole algorithm as far as the optimiser is concerned."""

    def __init__(self, config: LearnerConfig, device: torch.device = CPU) -> None:
        torch.manual_seed(1)
        self.optimiser = Optimiser(Regression(), config, device)
        self.optimiser.set_lr(LR)

    def loss(self, minibatch: Rows, factor: Tensor) -> Measured:
        legal = torch.ones(len(minibatch.x), 1, dtype=torch.bool, device=minibatch.x.device)
        _, value = self.optimiser.net.outputs({"x": minibatch.x}, legal)
        error = value.float() - minibatch.y
        loss = factor * error.square().mean()
        return Measured(loss, torch.stack((loss, error.abs().mean())).detach())

    def step(self, minibatch: Rows, factor: float = 1.0) -> Tensor:
        device = self.optimiser.device
        return self.optimiser.step(
            [Rows(minibatch.x.to(device), minibatch.y.to(device))], self.loss, torch.tensor(factor, device=device)
        )


def vector(fit: Fit) -> Tensor:
    return fit.optimiser.weights.vector.clone()


@pytest.mark.parametrize("n", [ROWS, 7])  # the last minibatch of a batch may be of any size
def test_parts_of_a_minibatch_take_the_step_that_the_whole_takes(n: int) -> None:
    whole, accumulated = Fit(LearnerConfig()), Fit(LearnerConfig(accumulate=4))
    for seed in range(5):
        one, other = whole.step(rows(seed, n)), accumulated.step(rows(seed, n))
        assert torch.allclose(one, other, rtol=0, atol=1e-6)
        assert torch.allclose(
            whole.optimiser.weights.gradient, accumulated.optimiser.weights.gradient, rtol=0, atol=1e-6
        )
    assert torch.allclose(vector(whole), vector(accumulated), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("config", "beta1"),
    [
        (LearnerConfig(max_grad_norm=0.1), 0.9),
        (LearnerConfig(max_grad_norm=0.1, adam_beta1=0.5), 0.5),
        (LearnerConfig(max_grad_norm=0.1, algorithm="rnad"), 0.0),
    ],
)
def test_step_is_that_of_adam_on_a_clipped_gradient(config: LearnerConfig, beta1: float) -> None:
    fit = Fit(config)
    torch.manual_seed(1)
    twin = nn.Sequential(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, 1))
    adam = torch.optim.Adam(twin.parameters(), lr=LR, betas=(beta1, 0.999), eps=config.adam_eps)
    for seed in range(4):
        numbers = fit.step(rows(seed))
        adam.zero_grad()
        minibatch = rows(seed)
        (twin(minibatch.x).squeeze(1) - minibatch.y).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(twin.parameters(), 0.1)
        adam.step()
        assert numbers[-1] == pytest.approx(float(norm), rel=1e-5)
    learned = fit.optimiser.net.state_dict()
    assert all(torch.allclose(learned[f"layers.{name}"], value, atol=1e-6) for name, value in twin.state_dict().items())


def test_gradients_that_are_not_finite_are_counted_in_each_update() -> None:
    fit = Fit(LearnerConfig())
    before = fit.optimiser.remember()
    steps = torch.stack([fit.step(rows(0), factor) for factor in (1.0, float("nan"), float("inf"))])
    assert fit.optimiser.non_finite(steps) == 2
    fit.optimiser.restore(before)
    fit.optimiser.remember()
    step = fit.step(rows(0))
    assert fit.optimiser.non_finite(step[None]) == 0
    assert torch.isfinite(step).all()


def test_bf16_learns_what_fp32_does_with_weights_in_fp32() -> None:
    exact, rounded = Fit(LearnerConfig()), Fit(LearnerConfig(compute=ComputeConfig(precision="bf16")))
    for _ in range(60):
        first, second = exact.step(rows(0))[0], rounded.step(rows(0))[0]
    assert not torch.equal(vector(exact), vector(rounded))
    assert float(second) == pytest.approx(float(first), rel=0.1)
    assert all(tensor.dtype == torch.float32 for tensor in rounded.optimiser.net.parameters())


def test_optimiser_without_fused_kernels_takes_the_same_steps() -> None:
    fused, plain = Fit(LearnerConfig()), Fit(LearnerConfig(compute=ComputeConfig(fused=False)))
    for seed in range(3):
        fused.step(rows(seed))
        plain.step(rows(seed))
    assert torch.allclose(vector(fused), vector(plain), rtol=0, atol=1e-6)


COMPILED = LearnerConfig(compute=ComputeConfig(compile=True))


@pytest.mark.filterwarnings("ignore")  # of torch's own code, when it compiles
def test_loss_that_cannot_be_compiled_as_a_whole_is_learned_without_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Branching(Fit):
        def loss(self, minibatch: Rows, factor: Tensor) -> Measured:
            return super().loss(minibatch, factor * 2 if float(minibatch.x.sum()) > 0 else factor)

    eager, fit = Branching(LearnerConfig()), Branching(COMPILED)
    with caplog.at_level(logging.WARNING):
        for seed in range(3):
            assert torch.equal(fit.step(rows(seed)), eager.step(rows(seed)))
    assert torch.equal(vector(fit), vector(eager))
    (record,) = caplog.records
    assert record.getMessage().startswith("learner.compute.compile: training continues without torch.compile: ")
    assert "data-dependent" in record.getMessage()


@pytest.mark.filterwarnings("ignore")
def test_without_a_compiler_the_run_goes_on_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    eager, fit = Fit(LearnerConfig()), Fit(COMPILED)
    nowhere = {"cpp.cxx": (None, "/there/is/none"), "fx_graph_cache": False}
    with caplog.at_level(logging.WARNING), inductor.patch(nowhere):
        assert torch.equal(fit.step(rows(0)), eager.step(rows(0)))
    assert "InvalidCxxCompiler: No working C++ compiler found" in caplog.text


@pytest.mark.filterwarnings("ignore")
def test_genuine_error_in_a_loss_is_raised_and_not_hidden_by_the_fallback() -> None:
    class Broken(Fit):
        def loss(self, minibatch: Rows, factor: Tensor) -> Measured:
            raise KeyError("weights")

    with pytest.raises(KeyError, match="weights"):
        Broken(COMPILED).step(rows(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_loss_takes_the_steps_of_the_eager_one(caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    eager, fit = Fit(LearnerConfig()), Fit(COMPILED)
    with caplog.at_level(logging.WARNING):
        for seed, n in enumerate((ROWS, ROWS, 7, ROWS, 7)):
            assert torch.allclose(fit.step(rows(seed, n)), eager.step(rows(seed, n)), atol=1e-5)
    assert not caplog.records
    assert torch.allclose(vector(fit), vector(eager), atol=1e-5)


@pytest.mark.cuda
def test_fp16_scales_losses_and_leaves_out_minibatches_for_which_the_scale_is_too_large() -> None:
    fit = Fit(LearnerConfig(compute=ComputeConfig(precision="fp16")), torch.device("cuda"))
    before = vector(fit)
    fit.optimiser.remember()
    numbers = fit.step(rows(0), 1e6)  # times 65,536 this does not fit into fp16
    assert torch.isfinite(numbers).all()
    assert torch.equal(vector(fit), before)
    assert fit.optimiser.non_finite(numbers[None]) == 1
    saved = {name: tensor.clone() for name, tensor in fit.optimiser.state().items()}
    assert float(saved["loss_scale"]) == 2.0**15
    again = Fit(LearnerConfig(compute=ComputeConfig(precision="fp16")), torch.device("cuda"))
    again.optimiser.load_state(saved)
    assert float(again.optimiser.state()["loss_scale"]) == 2.0**15
    first = float(fit.step(rows(0))[0])
    for _ in range(60):
        last = float(fit.step(rows(0))[0])
    assert last < first / 2


@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graphs", [False, True])
def test_compiled_steps_on_cuda_are_those_of_the_eager_ones(graphs: bool, caplog: pytest.LogCaptureFixture) -> None:
    torch._dynamo.reset()
    config = LearnerConfig(accumulate=2, compute=ComputeConfig(compile=True, graphs=graphs))
    eager, fit = Fit(LearnerConfig(), torch.device("cuda")), Fit(config, torch.device("cuda"))
    with caplog.at_level(logging.WARNING):
        for seed, n in enumerate((ROWS, ROWS, 8, ROWS, 8)):
            assert torch.allclose(fit.step(rows(seed, n)), eager.step(rows(seed, n)), atol=1e-4)
    assert not caplog.records
    assert torch.allclose(vector(fit), vector(eager), atol=1e-4)
