"""The game's own net: one row of logits and one value per number."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from ludus.config.settings import PolicyConfig
from ludus.policies.distributions import Categorical
from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Recall
from ludus.spec import GameSpec


class TableNet(Net):
    """Looks logits and value up by the number that the player sees."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        self.policy = nn.Embedding(spec.actions, spec.actions)
        self.value = nn.Embedding(spec.actions, 1)
        for table in (self.policy, self.value):
            nn.init.zeros_(table.weight)

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        number = inputs["number"].long()
        return Categorical(self.policy(number), legal), self.value(number).squeeze(1)
