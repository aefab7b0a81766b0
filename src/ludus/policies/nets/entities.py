"""The net `entities`: for games whose decisions are choices from a list of options about entities, such as cards.

Axes: B rows, T tokens, A actions, D width, C context.

`nets.lists` reads from the spec which leaves list entities, which describe the options, and which entity each refers
to. Entities attend to each other. The score of an action is computed from its option's own features, the entities that
the option refers to, what it attends to, and the context. If the layout names the entities, nothing depends on their
order. Nothing depends on the order of options.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical
from ludus.policies.nets.attention import AttentionBlock, refuse_unfit
from ludus.policies.nets.entity_tokens import Entities
from ludus.policies.nets.grids import GridTokens
from ludus.policies.nets.layers import linear
from ludus.policies.nets.lists import lists_of
from ludus.policies.nets.net import Net
from ludus.policies.nets.options import Options, parts_of
from ludus.policies.nets.reals import scaled
from ludus.policies.nets.recurrence import Recall, build_core, recalled
from ludus.policies.nets.relations import Relations
from ludus.policies.nets.trimming import Trimming
from ludus.policies.nets.values import build_bins
from ludus.spec import GameSpec

LARGEST_T = 4096  # attention needs memory for T * T numbers in each row


class EntityNet(Net):
    """`policy.layers` attention blocks over one token for the state, one for each entity and one for each patch of a
    grid. The context [B, C] is computed from the state token and the mean of the known tokens. Without leaves for
    options, each action has a learned vector instead."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        refuse_unfit(config, "entities")
        lists = lists_of(spec)
        D, C = config.width, config.context
        self.state = {leaf.name: leaf.is_real for leaf in lists.state}
        self.state_in = nn.Linear(max(sum(prod(leaf.shape) for leaf in lists.state), 1), D)
        self.entities = nn.ModuleList(
            Entities(spec, leaves, D, placed=lists.placed) for leaves in lists.entities.values()
        )
        self.maps = {leaf.name: leaf.is_real for leaf in lists.grids}
        self.grids = nn.ModuleList(GridTokens(leaf, D) for leaf in lists.grids)
        self.relations = Relations(lists, D)
        self.trim = Trimming(lists)
        self.blocks = nn.ModuleList(AttentionBlock(D, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(D)
        self.context = linear(2 * D, C)
        self.options = Options(spec, lists, config)
        self.value = linear(C, config.value.bins, gain=0.1)
        self.bins = build_bins(config.value)
        self.core = build_core(config.recurrent, C)
        tokens = 1 + sum(lists.lengths.values()) + sum(grid.patches for grid in self._grids())
        if tokens > LARGEST_T:
            raise ConfigError(
                f"policy.net: entities would attend to {tokens:,} entities and patches of {spec.name}, which takes too "
                f"much memory; at most {LARGEST_T:,} are allowed: use mlp, or show fewer"
            )

    def prepare(self, obs: Mapping[str, Tensor], legal: Tensor) -> dict[str, Tensor]:
        """Return `state` [B, numbers]; `known` [B, T], which is False for tokens without content; the positions of each
        leaf that refers to entities, as `Relations.read` returns them; and the inputs of each list as `<i>.<part>`, of
        the options as `options.<part>` and of each grid as `grid.<i>`."""
        B = len(legal)
        state = [scaled(obs[name], real).flatten(1) for name, real in self.state.items()]
        inputs = {"state": torch.cat(state or [legal.new_zeros(B, 1).float()], dim=1)}
        masks = [torch.ones(B, 1, dtype=torch.bool, device=legal.device)]
        for at, encoder in enumerate(self._lists()):
            parts = encoder.read(obs)
            masks.append(torch.cat([part.flatten(2) != 0 for part in parts.values()], dim=2).any(2))
            inputs |= {f"{at}.{part}": tensor for part, tensor in parts.items()}
        for at, (grid, (name, real)) in enumerate(zip(self._grids(), self.maps.items(), strict=True)):
            inputs[f"grid.{at}"] = scaled(obs[name], real).movedim(3, 1).contiguous()
            masks.append(masks[0].expand(B, grid.patches))
        inputs["known"] = torch.cat(masks, dim=1)
        return inputs | self.relations.read(obs, none=inputs["known"].shape[1]) | self.options.read(obs)

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        if not legal.is_cuda:  # the shapes of CUDA graphs must not depend on the data
            inputs = self.trim(inputs, legal)
        mask, tokens = inputs["known"], self._tokens(inputs)
        attention_bias = torch.zeros_like(mask, dtype=self.context.weight.dtype).masked_fill_(~mask, -torch.inf)
        attention_bias = attention_bias[:, None, None]
        for block in self.blocks:
            tokens = block(tokens, attention_bias)
        tokens = self.norm(tokens)
        rest, there = tokens[:, 1:], mask[:, 1:, None]
        mean = (rest * there).sum(1) / there.sum(1).clamp(min=1)
        context = recalled(self.core, relu(self.context(torch.cat((tokens[:, 0], mean), dim=1))), recall)
        scores = self.options(inputs, tokens, attention_bias, context)
        scores = pad(scores, (0, legal.shape[1] - scores.shape[1]))
        return Categorical(scores, legal), self.value(context).squeeze(1)

    def freeze_tables(self) -> None:
        for module in self.modules():
            if isinstance(module, Entities):
                module.freeze()

    def _tokens(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the tokens [B, T, D] before the first block, with what related entities tell each other."""
        tokens = [self.state_in(inputs["state"])[:, None]]
        starts = []
        for at, encoder in enumerate(self.entities):
            starts.append(sum(part.shape[1] for part in tokens))
            tokens.append(encoder(parts_of(inputs, str(at))))
        tokens += [grid(inputs[f"grid.{at}"]) for at, grid in enumerate(self.grids)]
        joined = torch.cat([part.float() for part in tokens], dim=1)
        messages: Tensor = self.relations(inputs, joined, starts)
        return joined + messages

    def _lists(self) -> list[Entities]:
        return [encoder for encoder in self.entities if isinstance(encoder, Entities)]

    def _grids(self) -> list[GridTokens]:
        return [grid for grid in self.grids if isinstance(grid, GridTokens)]
