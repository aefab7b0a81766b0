"""A net that plays in bfloat16: the weights of its linear layers are rounded once, not by autocast in every forward."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Core
from ludus.policies.weights import FlatWeights


class Rounded:
    """The twin of a net whose weights are flat. `refresh` when those have changed; the twin's stay where they lie."""

    def __init__(self, net: Net, weights: FlatWeights) -> None:
        self.net = deepcopy(net)
        self._weights = weights
        self._vector = weights.vector.to(torch.bfloat16)
        exact, rounded = weights.split(weights.vector), weights.split(self._vector)
        linear = _linear_parameters(net)
        for name, parameter in self.net.named_parameters():
            parameter.data = rounded[name] if name in linear else exact[name]

    def refresh(self) -> None:
        self._vector.copy_(self._weights.vector)


def _linear_parameters(net: Net) -> set[str]:
    """By name. Those of a memory's core stay exact, which would carry what it rounds through the match, and those that
    the net names."""
    exact = [name for name, module in net.named_modules() if isinstance(module, Core)] + list(net.exact)
    kept = tuple(f"{name}." for name in exact)
    return {
        f"{name}.{own}"
        for name, module in net.named_modules()
        if isinstance(module, nn.Linear) and not f"{name}.".startswith(kept)
        for own, _ in module.named_parameters(recurse=False)
    }
