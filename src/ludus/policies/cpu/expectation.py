"""The values of a categorical value head in numpy. Used by the choosers."""

from __future__ import annotations

import numpy as np
import torch

from ludus.policies.cpu.drawing import Floats
from ludus.policies.nets.values import ValueBins


class Expectation:
    """Turns the output of a value head into values, as `ValueBins.expected` does."""

    def __init__(self, bins: ValueBins | None) -> None:
        self._centres: Floats | None = None if bins is None else bins.centres.to(torch.float32).cpu().numpy()

    def __call__(self, output: Floats) -> Floats:
        """Return the values [n] of an output [n, 1], or of logits [n, bins]."""
        if self._centres is None:
            return output[:, 0]
        weight = np.exp(output - output.max(axis=1, keepdims=True))
        values: Floats = (weight @ self._centres) / weight.sum(axis=1)
        return values
