"""The value head of a net: one number per state, or a categorical distribution over returns (`policy.value`).

A categorical head has one logit per bin. The bins are returns at equal distances from -limit to limit, and the value of
a state is their mean under the softmax of the logits. It is trained with the cross-entropy to a distribution around the
return: a Gaussian over the bins (HL-Gauss, Farebrother et al. 2024), or the two nearest bins (two-hot).
Axes: n states.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludus.config.settings import ValueConfig


def build_bins(config: ValueConfig) -> ValueBins | None:
    """Return the bins of a categorical value head, or None if the value is one number."""
    return None if config.bins == 1 else ValueBins(config)


class ValueBins(nn.Module):
    """Reads the logits [n, bins] of a categorical value head, and computes its loss. It has no parameters."""

    centres: Tensor  # [bins]

    def __init__(self, config: ValueConfig) -> None:
        super().__init__()
        self.limit, self.width = config.limit, 2 * config.limit / (config.bins - 1)
        self.deviation = config.smoothing * self.width
        centres = torch.linspace(-config.limit, config.limit, config.bins)
        self.register_buffer("centres", centres, persistent=False)

    def expected(self, logits: Tensor) -> Tensor:
        """Return the values [n]: the expected return under the distribution of the logits [n, bins]."""
        values: Tensor = logits.float().softmax(1) @ self.centres
        return values

    def loss(self, logits: Tensor, returns: Tensor) -> Tensor:
        """Return the cross-entropy [n] of the logits [n, bins] to the distributions around the returns [n]."""
        return -(self.spread(returns) * logits.float().log_softmax(1)).sum(1)

    def spread(self, returns: Tensor) -> Tensor:
        """Return a distribution [n, bins] around each return [n]. Returns beyond the limit count as the limit."""
        within = returns.float().clamp(-self.limit, self.limit)[:, None]
        if not self.deviation:
            return (1 - (within - self.centres).abs() / self.width).clamp(min=0)
        edges = torch.cat((self.centres - self.width / 2, self.centres[-1:] + self.width / 2))
        below = torch.special.ndtr((edges - within) / self.deviation)  # share of the Gaussian below each edge
        shares = below.diff(dim=1)
        normalised: Tensor = shares / shares.sum(1, keepdim=True)
        return normalised


class Values:
    """The values of n states, from the output of a value head: numbers [n], or logits [n, bins] with their bins."""

    def __init__(self, output: Tensor, bins: ValueBins | None) -> None:
        self._output, self._bins = output.float(), bins
        self.expected = self._output if bins is None else bins.expected(self._output)
        """The expected returns [n]."""

    def loss(self, returns: Tensor) -> Tensor:
        """Return the loss [n] towards these returns [n]: the squared error, or for bins the cross-entropy."""
        if self._bins is None:
            return (self.expected - returns).square()
        return self._bins.loss(self._output, returns)
