"""Post-processing of a policy's probabilities, as R-NaD does it (Perolat et al. 2022). Axes: n decisions, A actions."""

from __future__ import annotations

import torch
from torch import Tensor


def post_process(probabilities: Tensor, *, threshold: float, discretisation: int) -> Tensor:
    """Return probabilities [n, A] without unlikely actions, rounded to multiples of 1 / discretisation.

    threshold: actions below this probability are removed, unless all are below it; 0 removes none. discretisation: each
    action's probability is rounded up, the most likely action first, until the sum is 1, and the rest become 0. With
    discretisation 0, nothing is rounded.
    """
    processed = probabilities
    if threshold > 0:
        enough = probabilities >= threshold
        enough |= ~enough.any(1, keepdim=True)
        processed = torch.where(enough, probabilities, 0.0)
        processed = processed / processed.sum(1, keepdim=True)
    if discretisation > 0:
        likely, order = processed.sort(dim=1, descending=True, stable=True)
        cumulative = (likely * discretisation - 1e-5).ceil().cumsum(1).clamp(max=discretisation)
        parts = cumulative.diff(dim=1, prepend=torch.zeros_like(cumulative[:, :1]))
        parts[:, 0] += discretisation - cumulative[:, -1]  # if the float probabilities sum to a little less than 1
        processed = torch.zeros_like(processed).scatter(1, order, parts / discretisation)
    return processed
