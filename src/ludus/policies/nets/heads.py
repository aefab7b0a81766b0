"""The last layers of a net before they are computed, so that a fused kernel can compute them together with sampling."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from ludus.policies.distributions import Categorical


class Heads(NamedTuple):
    """The input of both heads and their layers. The policy head reads all of `hidden` [n, K], the value head the first
    `value.in_features` columns."""

    hidden: Tensor
    policy: nn.Linear
    value: nn.Linear

    def outputs(self, legal: Tensor) -> tuple[Categorical, Tensor]:
        """Compute both heads with PyTorch and return what `Net.outputs` returns."""
        value = self.value(self.hidden[:, : self.value.in_features])
        return Categorical(self.policy(self.hidden), legal), value.squeeze(1)
