"""The last layers of a net, left to whoever chooses: on a device they are best done together with the draw."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from ludus.policies.distributions import Categorical


class Heads(NamedTuple):
    """The policy's reads all of `hidden` [n, K], the value's as many of its first columns as it has inputs."""

    hidden: Tensor
    policy: nn.Linear
    value: nn.Linear

    def judged(self, legal: Tensor) -> tuple[Categorical, Tensor]:
        """What a net says that does not stop here."""
        valued = self.value(self.hidden[:, : self.value.in_features])
        return Categorical(self.policy(self.hidden), legal), valued.squeeze(1)
