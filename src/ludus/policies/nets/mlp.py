"""The net `mlp`, for any game: all leaves flattened to floats, hidden layers, two heads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ludus.config.settings import PolicyConfig
from ludus.policies.distributions import Categorical
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.layers import linear
from ludus.policies.nets.net import Net
from ludus.policies.nets.reals import reals
from ludus.policies.nets.recurrence import Recall, build_core, recalled
from ludus.policies.nets.values import build_bins
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.policies.cpu.chooser import Chooser


class MlpNet(Net):
    """A multilayer perceptron with `policy.layers` hidden layers of 4 * `policy.width` units. Integer leaves enter as
    sign(x) log(1 + |x|): flags stay below 1, ids and counts in the thousands below 10."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        self.floats = tuple(leaf.name for leaf in spec.obs.leaves if leaf.is_real)
        self.integers = tuple(leaf.name for leaf in spec.obs.leaves if not leaf.is_real)
        inputs = sum(prod(leaf.shape) for leaf in spec.obs.leaves)
        hidden = 4 * config.width
        sizes = [inputs] + [hidden] * config.layers
        self.body = nn.Sequential(*(part for pair in pairwise(sizes) for part in (linear(*pair), nn.ReLU())))
        self.policy = linear(hidden, spec.actions, gain=0.01)
        self.value = linear(hidden, config.value.bins, gain=0.1)
        self.bins = build_bins(config.value)
        self.core = build_core(config.recurrent, hidden)

    def prepare(self, obs: Mapping[str, Tensor], legal: Tensor) -> dict[str, Tensor]:
        leaves = [reals(obs[name]).flatten(1) for name in self.floats]
        if self.integers:
            whole = torch.cat([obs[name].to(torch.float32).flatten(1) for name in self.integers], dim=1)
            leaves.append(whole.abs().log1p() * whole.sign())
        return {"leaves": leaves[0] if len(leaves) == 1 else torch.cat(leaves, dim=1)}

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        hidden = recalled(self.core, self.body(inputs["leaves"]), recall)
        return Categorical(self.policy(hidden), legal), self.value(hidden).squeeze(1)

    def forward_to_heads(self, inputs: Mapping[str, Tensor], recall: Recall | None = None) -> Heads:
        hidden = inputs["leaves"]
        for layer in self.body:
            if isinstance(layer, nn.Linear):  # one kernel for product, bias and ReLU
                weight = layer.weight
                hidden = torch._addmm_activation(layer.bias, hidden.to(weight.dtype), weight.t())
        return Heads(recalled(self.core, hidden, recall), self.policy, self.value)

    def chooser(self, spec: GameSpec) -> Chooser:
        from ludus.policies.cpu.mlp import MlpChooser  # here, because that module imports this package

        return MlpChooser(self, spec)
