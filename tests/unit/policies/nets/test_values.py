"""Categorical value heads: the distributions around returns, and the values that nets and choosers report."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.unit.policies.nets.test_transformer import SPEC, observed
from torch import Tensor

from ludus.config.settings import PolicyConfig, ValueConfig
from ludus.policies.cpu.expectation import Expectation
from ludus.policies.nets import build
from ludus.policies.nets.net import Net, forward_fused
from ludus.policies.nets.values import ValueBins, Values, build_bins
from ludus.spec import GameSpec, ObsSpec

RETURNS = torch.tensor([-2.0, -1.37, -0.04, 0.0, 0.5, 1.99])
FLAT = GameSpec("flat", 1, 5, ObsSpec.pack({"x": ("float32", (4,))}), 1)


def bins_of(smoothing: float = 0.0, bins: int = 51) -> ValueBins:
    built = build_bins(ValueConfig(bins=bins, smoothing=smoothing))
    assert built is not None
    return built


def net_of(name: str, spec: GameSpec, bins: int) -> Net:
    config = PolicyConfig(net=name, width=16, context=24, heads=2, value=ValueConfig(bins=bins))
    net = build(spec, config, "mlp", seed=1).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)) * 0.2)
    return net


def test_two_hot_targets_have_exactly_the_return_as_their_mean() -> None:
    bins = bins_of()
    shares = bins.spread(RETURNS)
    assert (shares >= 0).all()
    assert ((shares > 1e-6).sum(1) <= 2).all()
    torch.testing.assert_close(shares.sum(1), torch.ones(len(RETURNS)))
    torch.testing.assert_close(shares @ bins.centres, RETURNS)


def test_smooth_targets_are_the_gaussian_integrated_over_each_bin() -> None:
    bins = bins_of(0.75)
    shares = bins.spread(RETURNS)
    torch.testing.assert_close(shares.sum(1), torch.ones(len(RETURNS)))
    inner = RETURNS.abs() < 1.9  # nearer to the limit, a part of the Gaussian is cut off
    torch.testing.assert_close((shares @ bins.centres)[inner], RETURNS[inner], rtol=0, atol=1e-3)
    deviation = 0.75 * bins.width

    def below(edge: float) -> float:
        return 0.5 * (1 + math.erf((edge - 0.5) / deviation / math.sqrt(2)))

    slow = [below(float(c) + bins.width / 2) - below(float(c) - bins.width / 2) for c in bins.centres]
    torch.testing.assert_close(shares[4], torch.tensor(slow), rtol=1e-3, atol=1e-5)


def test_returns_beyond_the_limit_count_as_the_limit() -> None:
    for smoothing in (0.0, 0.75):
        bins = bins_of(smoothing)
        torch.testing.assert_close(bins.spread(torch.tensor([-9.0, 9.0])), bins.spread(torch.tensor([-2.0, 2.0])))


def test_loss_is_the_cross_entropy_and_least_at_the_return() -> None:
    bins = bins_of(0.75)
    logits = torch.randn(len(RETURNS), 51, generator=torch.Generator().manual_seed(0))
    slow = torch.nn.functional.cross_entropy(logits, bins.spread(RETURNS), reduction="none")
    torch.testing.assert_close(Values(logits, bins).loss(RETURNS), slow)
    perfect = Values(bins.spread(RETURNS).clamp(min=1e-30).log(), bins)
    assert (perfect.loss(RETURNS) < slow).all()
    torch.testing.assert_close(perfect.expected[1:-1], RETURNS[1:-1], rtol=0, atol=1e-3)


def test_one_number_is_trained_with_the_squared_error() -> None:
    value = torch.tensor([0.5, -1.0])
    assert build_bins(ValueConfig()) is None
    torch.testing.assert_close(Values(value, None).loss(torch.tensor([1.0, 1.0])), torch.tensor([0.25, 4.0]))
    torch.testing.assert_close(Values(value, None).expected, value)


@pytest.mark.parametrize(("name", "spec"), [("mlp", FLAT), ("transformer", SPEC), ("entities", SPEC)])
def test_nets_report_the_expectation_of_their_logits(name: str, spec: GameSpec) -> None:
    net = net_of(name, spec, 51)
    obs, legal = observed(spec), torch.ones(6, 5, dtype=torch.bool)
    with torch.no_grad():
        _, logits = net.outputs(net.prepare(obs, legal), legal)
        _, value = net(obs, legal)
    assert logits.shape == (6, 51)
    slow = (logits.softmax(1) * torch.linspace(-2, 2, 51)).sum(1)
    torch.testing.assert_close(value, slow)
    assert value.std() > 1e-3


def test_heads_that_are_computed_late_report_the_same_values() -> None:
    net = net_of("mlp", FLAT, 51)
    obs, legal = observed(FLAT), torch.ones(6, 5, dtype=torch.bool)
    with torch.no_grad():
        heads = forward_fused(net, obs, legal)
        assert not isinstance(heads, tuple) or hasattr(heads, "outputs")
        late: Tensor = heads.outputs(legal)[1]  # type: ignore[union-attr]  # an MLP returns Heads
        torch.testing.assert_close(late, net(obs, legal)[1])


@pytest.mark.parametrize("bins", [1, 51])
def test_choosers_compute_the_same_values(bins: int) -> None:
    output = np.random.default_rng(0).normal(size=(7, bins)).astype(np.float32) * 3
    built = build_bins(ValueConfig(bins=bins))
    expected = Values(torch.from_numpy(output).squeeze(1), built).expected
    np.testing.assert_allclose(Expectation(built)(output), expected.numpy(), rtol=1e-5, atol=1e-6)
    net = net_of("mlp", FLAT, bins)
    chooser = net.chooser(FLAT)
    assert chooser is not None
    obs = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    legal = np.ones((9, 5), np.bool_)
    with torch.no_grad():
        _, value = net({"x": torch.from_numpy(obs)}, torch.from_numpy(legal))
    chosen = chooser.choose(obs.view(np.uint8), legal, None)
    np.testing.assert_allclose(chosen[2], value.numpy(), rtol=1e-4, atol=1e-5)
