"""The layers that every net here is made of."""

from __future__ import annotations

import torch
from torch import nn


def linear(inputs: int, outputs: int, gain: float = 2**0.5, *, bias: bool = True) -> nn.Linear:
    """Orthogonal weights, no bias to begin with; the default gain is that for a following ReLU."""
    return stacked(inputs, (outputs,), gain, bias=bias)


def stacked(inputs: int, outputs: tuple[int, ...], gain: float = 2**0.5, *, bias: bool = True) -> nn.Linear:
    """Several linear layers that read the same, as one: each block of outputs begins as it would alone."""
    layer = nn.Linear(inputs, sum(outputs), bias=bias)
    for block in torch.split(layer.weight.data, list(outputs)):
        nn.init.orthogonal_(block, gain)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
