"""V-trace against its definition, against `gae` where nobody is older, and against torchrl and rlax."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ludus.learner.returns import gae
from ludus.learner.vtrace import Traces, vtrace

PEERS = Path(__file__).parents[2] / "data" / "vtrace"  # made by scripts/vtrace_peers.py
Floats = NDArray[np.float32]


class Drawn:
    """Random segments that span matches, some of them truncated."""

    def __init__(self, B: int, T: int, seed: int, apart: float = 1.0) -> None:
        random = np.random.default_rng(seed)
        self.log_ratio, self.reward, self.value, self.final_value = (
            random.normal(size=(B, T)).astype(np.float32) for _ in range(4)
        )
        self.log_ratio *= np.float32(apart)
        self.ends: NDArray[np.bool_] = random.random((B, T)) < 0.3
        self.final_value[~self.ends | (random.random((B, T)) < 0.5)] = 0
        self.next_value = random.normal(size=B).astype(np.float32)

    def traces(self, gamma: float, trace_lambda: float, rho_bar: float, c_bar: float) -> Traces:
        return vtrace(
            *(
                torch.from_numpy(array)
                for array in (self.log_ratio, self.reward, self.value, self.next_value, self.ends, self.final_value)
            ),
            gamma=gamma,
            trace_lambda=trace_lambda,
            rho_bar=rho_bar,
            c_bar=c_bar,
        )


def defined(
    drawn: Drawn, b: int, s: int, gamma: float, lam: float, rho_bar: float, c_bar: float
) -> tuple[float, float]:
    """Target and advantage of one decision by the definition: a sum over the decisions that follow in its match, each
    temporal difference weighted by the product of all the c between."""
    w = [exp(float(log_ratio)) for log_ratio in drawn.log_ratio[b]]
    last = next((t for t in range(s, len(w)) if drawn.ends[b, t]), len(w) - 1)

    def after(t: int) -> float:
        """The value of the state that decision t led to."""
        if drawn.ends[b, t]:
            return float(drawn.final_value[b, t])
        return float(drawn.value[b, t + 1]) if t + 1 < len(w) else float(drawn.next_value[b])

    def target(start: int) -> float:
        total = float(drawn.value[b, start])
        for t in range(start, last + 1):
            product = 1.0
            for i in range(start, t):
                product *= lam * min(c_bar, w[i])
            difference = float(drawn.reward[b, t]) + gamma * after(t) - float(drawn.value[b, t])
            total += gamma ** (t - start) * product * min(rho_bar, w[t]) * difference
        return total

    followed = after(s) if s == last else lam * target(s + 1) + (1 - lam) * after(s)
    return target(s), float(drawn.reward[b, s]) + gamma * followed - float(drawn.value[b, s])


@settings(max_examples=60, deadline=None)
@given(
    B=st.integers(1, 4),
    T=st.integers(1, 9),
    gamma=st.floats(0, 1),
    lam=st.floats(0, 1),
    rho_bar=st.floats(0.2, 4),
    c_bar=st.floats(0.2, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_targets_and_advantages_are_those_of_the_definition(
    B: int, T: int, gamma: float, lam: float, rho_bar: float, c_bar: float, seed: int
) -> None:
    drawn = Drawn(B, T, seed)
    traces = drawn.traces(gamma, lam, rho_bar, c_bar)
    for b in range(B):
        for s in range(T):
            target, advantage = defined(drawn, b, s, gamma, lam, rho_bar, c_bar)
            assert float(traces.target[b, s]) == pytest.approx(target, rel=1e-3, abs=1e-3)
            assert float(traces.advantage[b, s]) == pytest.approx(advantage, rel=1e-3, abs=1e-3)
            assert float(traces.rho[b, s]) == pytest.approx(min(rho_bar, exp(drawn.log_ratio[b, s])), rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(gamma=st.floats(0, 1), lam=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_what_the_same_policy_chose_has_the_returns_and_advantages_of_gae(gamma: float, lam: float, seed: int) -> None:
    drawn = Drawn(4, 8, seed, apart=0.0)
    traces = drawn.traces(gamma, lam, 1.0, 1.0)
    advantage, returns = gae(
        drawn.reward, drawn.value, drawn.next_value, drawn.ends, drawn.final_value, gamma=gamma, gae_lambda=lam
    )
    np.testing.assert_allclose(traces.target.numpy(), returns, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(traces.advantage.numpy(), advantage, rtol=1e-4, atol=1e-4)


def test_a_decision_with_a_ratio_of_zero_keeps_its_value_and_stops_the_trace() -> None:
    drawn = Drawn(2, 5, 3)
    drawn.ends[:] = False
    drawn.log_ratio[:, 2] = -np.inf
    traces = drawn.traces(0.9, 1.0, 1.0, 1.0)
    assert torch.equal(traces.target[:, 2], torch.from_numpy(drawn.value[:, 2]))
    drawn.reward[:, 2:] += 100
    again = drawn.traces(0.9, 1.0, 1.0, 1.0)
    assert torch.equal(traces.target[:, :3], again.target[:, :3])
    assert not torch.equal(traces.target[:, 3:], again.target[:, 3:])


def test_ratios_beyond_any_float_are_clipped_and_not_infinite() -> None:
    drawn = Drawn(2, 5, 4, apart=500.0)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in drawn.traces(0.99, 0.95, 1.0, 1.0))


def cases(peer: str) -> list[Any]:
    """Any: numbers, and lists of them."""
    found: list[Any] = json.loads((PEERS / f"{peer}.json").read_text())["cases"]
    assert found
    return found


@pytest.mark.parametrize("peer", ["torchrl", "rlax"])
def test_published_implementations_answer_the_same(peer: str) -> None:
    for case in cases(peer):
        traces = vtrace(
            *(
                torch.tensor(case[name])
                for name in ("log_ratio", "reward", "value", "next_value", "ends", "final_value")
            ),
            gamma=case["gamma"],
            trace_lambda=case["trace_lambda"],
            rho_bar=case["rho_bar"],
            c_bar=case["c_bar"],
        )
        np.testing.assert_allclose(traces.target.numpy(), case["target"], rtol=1e-5, atol=1e-5)
        weighted = (traces.rho * traces.advantage).numpy()
        np.testing.assert_allclose(weighted, case["weighted_advantage"], rtol=1e-5, atol=1e-5)
