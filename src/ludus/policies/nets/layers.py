"""Linear layers with orthogonal initial weights, used by all nets."""

from __future__ import annotations

import torch
from torch import nn


def linear(inputs: int, outputs: int, gain: float = 2**0.5, *, bias: bool = True) -> nn.Linear:
    """Return a linear layer with orthogonal weights and zero bias. The default gain suits a layer before a ReLU."""
    return stacked(inputs, (outputs,), gain, bias=bias)


def stacked(inputs: int, outputs: tuple[int, ...], gain: float = 2**0.5, *, bias: bool = True) -> nn.Linear:
    """Return one layer in place of several that have the same inputs: its outputs are theirs, side by side. Each block
    of outputs is initialised like a layer of its own."""
    layer = nn.Linear(inputs, sum(outputs), bias=bias)
    for block in torch.split(layer.weight.data, list(outputs)):
        nn.init.orthogonal_(block, gain)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
