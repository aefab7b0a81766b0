"""Sampling from masked logits in numpy, which has less per-op overhead than PyTorch. Used by the choosers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Whole = NDArray[np.signedinteger[Any]]


def draw(logits: Floats, uniform: Floats | None) -> tuple[Whole, Floats]:
    """Sample one choice per row from masked logits [n, k]. Returns the choices [n] and their log-probabilities [n].

    uniform: random numbers [n]; the choices are those of `Categorical.draw`. None: take the most probable choice.
    """
    top = logits.max(axis=1)
    weight = np.exp(logits - top[:, None])
    if uniform is None:
        choice, total = logits.argmax(axis=1), weight.sum(axis=1)
    else:
        reach = weight.cumsum(axis=1)
        total = reach[:, -1]
        below_total = total * np.float32(1 - 1e-6)  # rounding must not select a choice after the last legal one
        choice = (reach > (uniform * below_total)[:, None]).argmax(axis=1)
    n, k = logits.shape
    logit = logits.reshape(-1)[np.arange(0, n * k, k) + choice]
    return choice, logit - top - np.log(total)
