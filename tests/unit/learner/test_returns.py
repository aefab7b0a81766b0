"""Advantages against a slow, obvious twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ludus.learner.returns import gae

Floats = NDArray[np.float32]


def slow_advantage(
    reward: Floats, value: Floats, next_value: float, ends: NDArray[np.bool_], final: Floats, gamma: float, lam: float
) -> list[float]:
    """The definition, one segment: a sum of discounted errors up to the end of the match or the segment."""
    T = len(reward)
    advantages = []
    for start in range(T):
        total, factor = 0.0, 1.0
        for t in range(start, T):
            after = float(final[t]) if ends[t] else float(value[t + 1]) if t + 1 < T else next_value
            total += factor * (float(reward[t]) + gamma * after - float(value[t]))
            if ends[t]:
                break
            factor *= gamma * lam
        advantages.append(total)
    return advantages


@settings(max_examples=60, deadline=None)
@given(
    B=st.integers(1, 5),
    T=st.integers(1, 12),
    gamma=st.floats(0, 1),
    lam=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_advantages_are_discounted_sums_of_errors_within_a_match(
    B: int, T: int, gamma: float, lam: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    reward, value, final = (random.normal(size=(B, T)).astype(np.float32) for _ in range(3))
    ends = random.random((B, T)) < 0.3
    final[~ends | (random.random((B, T)) < 0.5)] = 0
    next_value = random.normal(size=B).astype(np.float32)
    advantage, returns = gae(reward, value, next_value, ends, final, gamma=gamma, gae_lambda=lam)
    for b in range(B):
        slow = slow_advantage(reward[b], value[b], float(next_value[b]), ends[b], final[b], gamma, lam)
        np.testing.assert_allclose(advantage[b], slow, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(returns, advantage + value, rtol=1e-6)


def test_truncated_match_is_worth_its_last_state_and_an_ended_one_nothing() -> None:
    reward, value = np.zeros((2, 1), np.float32), np.zeros((2, 1), np.float32)
    final = np.array([[4.0], [0.0]], np.float32)
    ends = np.ones((2, 1), np.bool_)
    advantage, _ = gae(reward, value, np.full(2, 9, np.float32), ends, final, gamma=0.5, gae_lambda=1.0)
    assert advantage.tolist() == [[2.0], [0.0]]
