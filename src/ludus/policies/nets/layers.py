"""The layer that every net here is made of."""

from __future__ import annotations

from torch import nn


def linear(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """Orthogonal weights, no bias to begin with; the default gain is that for a following ReLU."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
