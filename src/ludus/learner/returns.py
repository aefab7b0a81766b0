"""Generalised advantage estimation over segments that may span matches. Pure. Axes: B segments, T decisions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def gae(
    reward: Floats,  # [B, T] earned between this decision and the next
    value: Floats,  # [B, T]
    next_value: Floats,  # [B] value of the decision after the segment
    ends: NDArray[np.bool_],  # [B, T] the match ended after this decision
    final_value: Floats,  # [B, T] value of the state in which a match was truncated, otherwise 0
    *,
    gamma: float,
    gae_lambda: float,
) -> tuple[Floats, Floats]:
    """Return advantages and returns, [B, T] each.

    The recursion restarts at the end of a match. A truncated match is bootstrapped from `final_value`.
    """
    T = reward.shape[1]
    assert value.shape == ends.shape == final_value.shape == reward.shape
    assert next_value.shape == reward.shape[:1]
    following: Floats = np.concatenate((value[:, 1:], next_value[:, None]), axis=1)
    reached: Floats = np.where(ends, final_value, following)
    error: Floats = reward + np.float32(gamma) * reached - value
    carried: Floats = np.where(ends, np.float32(0), np.float32(gamma * gae_lambda))
    advantage = np.empty_like(reward)
    running: Floats = np.zeros_like(next_value)
    for t in range(T - 1, -1, -1):
        running = error[:, t] + carried[:, t] * running
        advantage[:, t] = running
    return advantage, advantage + value
