"""Post-processing of a policy's probabilities, as R-NaD does it (Perolat et al. 2022). Axes: n decisions, A actions."""

from __future__ import annotations

import torch
from torch import Tensor


def post_process(probabilities: Tensor, *, threshold: float, discretisation: int) -> Tensor:
    """[n, A] without actions less likely than the threshold, and as multiples of 1 / discretisation; 0: not done.

    Where no action reaches the threshold all stay. The likeliest take their multiple first, rounded up, until nothing
    is left.
    """
    kept = probabilities
    if threshold > 0:
        enough = probabilities >= threshold
        enough |= ~enough.any(1, keepdim=True)
        kept = torch.where(enough, probabilities, 0.0)
        kept = kept / kept.sum(1, keepdim=True)
    if discretisation > 0:
        likely, order = kept.sort(dim=1, descending=True, stable=True)
        wanted = (likely * discretisation - 1e-5).ceil().cumsum(1).clamp(max=discretisation)
        parts = wanted.diff(dim=1, prepend=torch.zeros_like(wanted[:, :1]))
        parts[:, 0] += discretisation - wanted[:, -1]  # where floats sum to a little less than 1
        kept = torch.zeros_like(kept).scatter(1, order, parts / discretisation)
    return kept
