"""The last layers of a net before they are computed, so that a fused kernel can compute them together with sampling."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from ludus.policies.distributions import Categorical
from ludus.policies.nets.values import ValueBins


class Heads(NamedTuple):
    """The layers of both heads and their input `hidden` [n, K]. The policy head reads all K columns, the value head the
    first `value.in_features`."""

    hidden: Tensor
    policy: nn.Linear
    value: nn.Linear
    bins: ValueBins | None = None  # of a categorical value head

    def outputs(self, legal: Tensor) -> tuple[Categorical, Tensor]:
        """Compute both heads with PyTorch. Returns the distribution and the values [n], as `Net.forward` does."""
        value = self.value(self.hidden[:, : self.value.in_features])
        expected = value.squeeze(1) if self.bins is None else self.bins.expected(value)
        return Categorical(self.policy(self.hidden), legal), expected
