"""R-NaD's schedule and its NeuRD loss (Perolat et al. 2022). Pure. Axes: n decisions, A actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Moment(NamedTuple):
    """The position of one update in the schedule."""

    alpha: float  # weight of the current regularisation policy; the previous one has weight 1 - alpha
    swaps: bool  # after this update the target net becomes the regularisation policy


def moment(schedule: Sequence[tuple[int, int]], update: int) -> Moment:
    """Return the position of an update, counted from 0, in the schedule.

    The schedule is a list of pairs (updates, times): `times` iterations of `updates` updates each. The last pair
    repeats forever. In the first half of each iteration, `alpha` grows linearly from 0 to 1.
    """
    began = 0
    for place, (updates, times) in enumerate(schedule):
        if place + 1 == len(schedule) or update < began + updates * times:
            at = (update - began) % updates
            return Moment(min(1.0, 2 * at / updates), at + 1 == updates)
        began += updates * times
    raise ValueError("the schedule is empty")


def neurd_loss(log_probs: Tensor, legal: Tensor, advantage: Tensor, *, beta: float, clip: float) -> Tensor:
    """Return the NeuRD loss [n]. Its gradient moves each logit by its advantage, which is clipped to +-`clip`.

    A logit that differs from the row's mean by `beta` or more is not moved further away. Logits are recovered from
    log-probabilities [n, A], which differ from them by a constant per row: subtracting the mean removes it.
    """
    legal_log_probs = torch.where(legal, log_probs, 0.0)
    logits = torch.where(legal, log_probs - legal_log_probs.sum(1, keepdim=True) / legal.sum(1, keepdim=True), 0.0)
    with torch.no_grad():
        force = advantage.clamp(-clip, clip)
        force = torch.where(logits > -beta, force.clamp(max=0.0), 0.0) + torch.where(
            logits < beta, force.clamp(min=0.0), 0.0
        )
    return -(logits * torch.where(legal, force, 0.0)).sum(1)
