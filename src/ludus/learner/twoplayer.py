"""Two-player V-trace (Perolat et al. 2022) over segments that hold the decisions of both seats in order of time. Pure.

For each seat, everything between its decision t and its next decision (or the end of the match) is its environment,
including the decisions j of the other seat. Each of those contributes its importance ratio w_j = pi / mu, of the
trained policy to the one that chose the action, and its regularisation g_j = eta * sum over a of pi log(pi / reg). The
seat earns g_j as a reward, and pays its own g_t. With W = product of the w_j, and r = the seat's reward until its next
decision:

    v_t = V_t + min(rho, w_t W) (r + sum of g_j - g_t + gamma V' - V_t) + lambda min(c, w_t W) gamma (v' - V')
    gain_t = W r + (g_j, each by the ratios before it) + gamma W v' - V_t

V' and v' belong to the seat's next decision. r is earned somewhere between the two decisions. Weighting it by ratios of
later decisions adds variance but no bias, since their expectation is 1. Axes: B segments, T decisions, S seats.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Targets(NamedTuple):
    value: Tensor  # [B, T] v_t, the regression target of the value
    gain: Tensor  # [B, T] gain of the action taken over the value, before dividing by the action's probability


class Walk(NamedTuple):
    """The state of the backward recursion, per seat [B, S]."""

    is_known: Tensor  # bool: the seat's next decision is in this segment
    value: Tensor  # V' of that decision
    target: Tensor  # v' of it
    ratio: Tensor  # W
    weighted: Tensor  # sum of the other seat's g_j, each multiplied by the ratios of the decisions before it
    plain: Tensor  # sum of the other seat's g_j


def two_player_vtrace(
    seat: Tensor,  # [B, T] who decides
    opens: Tensor,  # [B, T] bool: the first decision of a match
    ends: Tensor,  # [B, T] bool: the seat's last decision of a match
    reward: Tensor,  # [B, T] earned by the seat until its next decision or the end
    final_value: Tensor,  # [B, T] value of the state in which a match was truncated, otherwise 0
    value: Tensor,  # [B, T] value of the state for the seat
    ratio: Tensor,  # [B, T] pi / mu of the action taken
    regularisation: Tensor,  # [B, T] eta * sum over a of pi log(pi / reg)
    *,
    seats: int,
    gamma: float,
    trace_lambda: float,
    rho_bar: float,
    c_bar: float,
) -> Targets:
    """Return value targets and gains.

    If a seat's next decision is not in the segment, its target is its value and its gain is 0.
    """
    assert seat.shape == opens.shape == ends.shape == reward.shape == final_value.shape == value.shape
    assert value.shape == ratio.shape == regularisation.shape
    targets, gains = torch.empty_like(value), torch.empty_like(value)
    walk = initial = _beginning(value, seats)
    for t in reversed(range(value.shape[1])):
        if t + 1 < value.shape[1]:  # where the next match begins at t + 1, the recursion restarts
            walk = Walk(*(torch.where(opens[:, t + 1, None], old, new) for old, new in zip(initial, walk, strict=True)))
        mine = seat[:, t, None] == torch.arange(seats, device=seat.device)  # [B, S]
        now = [column[:, t, None] for column in (ends, final_value, value, ratio, regularisation, reward)]
        over, final, here, w, g, earned = now
        is_known = walk.is_known | over
        next_value = torch.where(over, final, walk.value)
        next_target = torch.where(over, final, walk.target)
        both = w * walk.ratio
        error = earned + walk.plain - g + gamma * next_value - here
        target = here + both.clamp(max=rho_bar) * error
        target = target + trace_lambda * both.clamp(max=c_bar) * gamma * (next_target - next_value)
        target = torch.where(is_known, target, here)
        gain = walk.ratio * (earned + gamma * next_target) + walk.weighted - here
        gain = torch.where(is_known, gain, 0.0)
        targets[:, t] = target.gather(1, seat[:, t, None].long())[:, 0]
        gains[:, t] = gain.gather(1, seat[:, t, None].long())[:, 0]
        walk = Walk(
            is_known=walk.is_known | mine,
            value=torch.where(mine, here, walk.value),
            target=torch.where(mine, target, walk.target),
            ratio=torch.where(mine, 1.0, both),
            weighted=torch.where(mine, 0.0, g + w * walk.weighted),
            plain=torch.where(mine, 0.0, g + walk.plain),
        )
    return Targets(targets, gains)


def _beginning(value: Tensor, seats: int) -> Walk:
    """Return the state of the recursion at the end of a match or segment."""
    zeros = value.new_zeros(len(value), seats)
    return Walk(torch.zeros_like(zeros, dtype=torch.bool), zeros, zeros, torch.ones_like(zeros), zeros, zeros)
