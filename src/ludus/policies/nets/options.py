"""Scores the options of a decision, for the net `entities`.

Axes: B rows, T tokens, A actions, D width, C context.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from ludus.config.settings import PolicyConfig
from ludus.policies.nets.entity_tokens import Entities
from ludus.policies.nets.layers import linear
from ludus.policies.nets.lists import Lists
from ludus.policies.nets.relations import gathered
from ludus.spec import GameSpec


class Options(nn.Module):
    """Scores the A options of a decision. Each option attends to the tokens once, and does not see the others."""

    def __init__(self, spec: GameSpec, lists: Lists, config: PolicyConfig) -> None:
        super().__init__()
        D = config.width
        self.heads = config.heads
        self.encoder = Entities(spec, lists.options, D, placed=False) if lists.options else None
        self.learned = None if lists.has_options else nn.Parameter(torch.randn(spec.actions, D) * 0.1)
        self.names = [name for name, group in lists.holders.items() if not group]
        self.refers = nn.ModuleList(nn.Linear(D, D) for _ in self.names)
        self.before = nn.LayerNorm(D)
        self.query, self.key_value, self.attended = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.norm = nn.LayerNorm(D)
        self.hidden, self.about = linear(D, D), linear(config.context, D, bias=False)
        self.score = linear(D, 1, gain=0.01)

    def read(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the inputs of the encoder of options as `options.<part>`."""
        parts = {} if self.encoder is None else self.encoder.read(obs)
        return {f"options.{name}": part for name, part in parts.items()}

    def forward(self, inputs: Mapping[str, Tensor], tokens: Tensor, attention_bias: Tensor, context: Tensor) -> Tensor:
        """Return the scores [B, A], given the output tokens [B, T, D] of the blocks and the context [B, C]."""
        vectors = [] if self.learned is None else [self.learned.expand(len(tokens), -1, -1)]
        if self.encoder is not None:
            vectors.append(self.encoder(parts_of(inputs, "options")).float())
        for name, layer in zip(self.names, self.refers, strict=True):
            vectors.append(gathered(layer(tokens).float(), inputs[f"refers.{name}"]))
        options: Tensor = sum(vectors[1:], vectors[0])
        options = options + self._attend(self.before(options), tokens, attention_bias)
        hidden = relu(self.hidden(self.norm(options)) + self.about(context)[:, None])
        scores: Tensor = self.score(hidden).squeeze(2).float()
        return scores

    def _attend(self, options: Tensor, tokens: Tensor, attention_bias: Tensor) -> Tensor:
        """Return what each option [B, A, D] attends to."""
        B, A, D = options.shape
        query = self.query(options).view(B, A, self.heads, -1).transpose(1, 2)
        key, value = self.key_value(tokens).view(B, -1, 2, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, attn_mask=attention_bias.to(query.dtype))
        answer: Tensor = self.attended(attended.transpose(1, 2).reshape(B, A, D)).float()
        return answer


def parts_of(inputs: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """Return the inputs `<name>.<part>` by part."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): part for key, part in inputs.items() if key.startswith(prefix)}
