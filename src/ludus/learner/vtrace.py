"""V-trace (Espeholt et al. 2018) over segments that may span matches. Pure. Axes: B segments, T decisions.

With the importance ratio w = pi / mu of the trained policy to the one that chose the action, rho = min(rho_bar, w) and
c = lambda min(c_bar, w), the target of a decision is

    v_s = V_s + sum over t >= s of  gamma^(t-s)  c_s ... c_(t-1)  rho_t (r_t + gamma V_(t+1) - V_t)

up to the end of its match or of the segment. If both policies are the same, targets and advantages are those of
`returns.gae`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Traces(NamedTuple):
    target: Tensor  # [B, T] v_s, the regression target of the value
    advantage: Tensor  # [B, T] of the action taken; multiply it by rho in a policy gradient
    rho: Tensor  # [B, T] the clipped ratio


def vtrace(
    log_ratio: Tensor,  # [B, T] log pi - log mu of the action taken; -inf: this decision is not trained on
    reward: Tensor,  # [B, T] earned between this decision and the next
    value: Tensor,  # [B, T]
    next_value: Tensor,  # [B] value of the decision after the segment
    ends: Tensor,  # [B, T] bool: the match ended after this decision
    final_value: Tensor,  # [B, T] value of the state in which a match was truncated, otherwise 0
    *,
    gamma: float,
    trace_lambda: float,
    rho_bar: float,
    c_bar: float,
) -> Traces:
    """Return targets, advantages and clipped ratios, without gradients.

    The recursion restarts at the end of a match. A truncated match is bootstrapped from `final_value`.
    """
    assert log_ratio.shape == reward.shape == value.shape == ends.shape == final_value.shape
    assert next_value.shape == reward.shape[:1]
    with torch.no_grad():
        rho = log_ratio.clamp(max=math.log(rho_bar)).exp()
        carried = torch.where(ends, 0.0, gamma * trace_lambda * log_ratio.clamp(max=math.log(c_bar)).exp())
        reached = torch.where(ends, final_value, torch.cat((value[:, 1:], next_value[:, None]), dim=1))
        error = rho * (reward + gamma * reached - value)
        correction = torch.empty_like(value)  # v - V
        running = torch.zeros_like(next_value)
        for t in reversed(range(value.shape[1])):
            running = error[:, t] + carried[:, t] * running
            correction[:, t] = running
        later = torch.cat((correction[:, 1:], torch.zeros_like(next_value)[:, None]), dim=1)
        followed = reached + torch.where(ends, 0.0, trace_lambda * later)
        return Traces(value + correction, reward + gamma * followed - value, rho)
