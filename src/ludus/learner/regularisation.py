"""The pure parts of R-NaD (Perolat et al. 2022) besides its returns. Axes: n decisions, A actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Moment(NamedTuple):
    """Where a run stands in its schedule."""

    alpha: float  # weight of the last regularisation policy; the one before it has the rest
    swaps: bool  # after this update the target becomes the regularisation policy


def moment(schedule: Sequence[tuple[int, int]], update: int) -> Moment:
    """Of the update with this number, from 0 on. The schedule has pairs: so many updates, so many times; the last goes
    on for ever. In the first half of each part the last policy's weight grows from 0 to 1."""
    began = 0
    for place, (updates, times) in enumerate(schedule):
        if place + 1 == len(schedule) or update < began + updates * times:
            at = (update - began) % updates
            return Moment(min(1.0, 2 * at / updates), at + 1 == updates)
        began += updates * times
    raise ValueError("the schedule is empty")


def neurd_loss(log_probs: Tensor, legal: Tensor, advantage: Tensor, *, beta: float, clip: float) -> Tensor:
    """[n] A step down this moves each logit by its advantage (NeuRD), but none that is beta from the mean further away.

    Log-probabilities [n, A] differ from logits by a number a row, which leaves with their mean over the legal actions.
    """
    legal_log_probs = torch.where(legal, log_probs, 0.0)
    logits = torch.where(legal, log_probs - legal_log_probs.sum(1, keepdim=True) / legal.sum(1, keepdim=True), 0.0)
    with torch.no_grad():
        force = advantage.clamp(-clip, clip)
        force = torch.where(logits > -beta, force.clamp(max=0.0), 0.0) + torch.where(
            logits < beta, force.clamp(min=0.0), 0.0
        )
    return -(logits * torch.where(legal, force, 0.0)).sum(1)
