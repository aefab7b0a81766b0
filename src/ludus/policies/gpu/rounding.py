"""A copy of a net that computes in bfloat16. Its weights are rounded once per update; autocast would round them in
every forward pass."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Core
from ludus.policies.weights import FlatWeights


class Rounded:
    """A copy of a net, `net`, whose linear layers have bfloat16 weights. Call `refresh` after the weights have changed;
    it updates the copy in place, so CUDA graphs that read it stay valid."""

    def __init__(self, net: Net, weights: FlatWeights) -> None:
        self.net = deepcopy(net)
        self._weights = weights
        self._vector = weights.vector.to(torch.bfloat16)
        exact, rounded = weights.split(weights.vector), weights.split(self._vector)
        linear = _linear_parameters(net)
        for name, parameter in self.net.named_parameters():
            parameter.data = rounded[name] if name in linear else exact[name]

    def refresh(self) -> None:
        """Round the current weights into the copy, in place."""
        self._vector.copy_(self._weights.vector)


def _linear_parameters(net: Net) -> set[str]:
    """Return the names of the parameters to round: those of all linear layers, except for the recurrent layer, which
    would carry rounding errors through a match, and the modules that the net lists in `exact`."""
    exact = [name for name, module in net.named_modules() if isinstance(module, Core)] + list(net.exact)
    exact_prefixes = tuple(f"{name}." for name in exact)
    return {
        f"{name}.{own}"
        for name, module in net.named_modules()
        if isinstance(module, nn.Linear) and not f"{name}.".startswith(exact_prefixes)
        for own, _ in module.named_parameters(recurse=False)
    }
