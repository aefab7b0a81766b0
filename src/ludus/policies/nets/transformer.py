"""A set transformer for games whose observations list entities: every one of them is a token, attention relates them.

Axes: B rows, N entities of a group, T tokens, D width, C context.

A leaf of two axes or more lists entities along its first; leaves of one length describe the same ones, and with them
ids of that length. What is left describes the state as a whole, the token that is always there. An entity of which
nothing is known, whose numbers are all zero, is masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from math import prod

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import gelu, relu, scaled_dot_product_attention

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.layers import linear
from ludus.policies.nets.net import Net
from ludus.policies.nets.reals import scaled
from ludus.policies.nets.recurrence import Recall, build_core, recalled
from ludus.spec import GameSpec, Leaf

GROWTH = 4  # of the width inside a block
ABOUT = 8  # numbers that each token in its place says about the actions


def refuse_unfit(config: PolicyConfig) -> None:
    """Raise ConfigError for what no transformer can be made of."""
    if config.net == "transformer" and config.width % config.heads:
        raise ConfigError(f"policy.heads: {config.heads} must divide policy.width, which is {config.width}")


class TransformerNet(Net):
    """What to do and what to expect: `policy.layers` blocks over all tokens, then their mean beside the state's own."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        refuse_unfit(config)
        groups, state = grouped(spec)
        D, C = config.width, config.context
        self.groups = nn.ModuleList(Entities(spec, leaves, D) for leaves in groups)
        self.heads = config.heads
        self.state = {leaf.name: leaf.is_real for leaf in state}
        self.state_in = nn.Linear(max(sum(prod(leaf.shape) for leaf in state), 1), D)
        self.blocks = nn.ModuleList(AttentionBlock(D, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(D)
        tokens = 1 + sum(leaves[0].shape[0] for leaves in groups)
        self.about = linear(D, ABOUT)
        self.context = linear(2 * D, C)
        self.policy = linear(C + tokens * ABOUT, spec.actions, gain=0.01)
        self.value = linear(C, 1, gain=0.1)
        self.core = build_core(config.recurrent, C)

    def prepare(self, obs: Mapping[str, Tensor], legal: Tensor) -> dict[str, Tensor]:
        """Of each group its numbers [B, N, ...] and ids, of the state its numbers; the `known` tokens [B, T]."""
        state = [scaled(obs[name], real).flatten(1) for name, real in self.state.items()]
        inputs = {"state": torch.cat(state or [legal.new_zeros(len(legal), 1).float()], dim=1)}
        masks = [torch.ones(len(legal), 1, dtype=torch.bool, device=legal.device)]
        for at, group in enumerate(self.groups):
            assert isinstance(group, Entities)
            parts = group.read(obs)
            masks.append(torch.cat([part.flatten(2) != 0 for part in parts.values()], dim=2).any(2))
            inputs |= {f"{at}.{name}": part for name, part in parts.items()}
        inputs["known"] = torch.cat(masks, dim=1)
        return inputs

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        mask, tokens = inputs["known"], self._tokens(inputs)
        attention_bias = torch.zeros_like(mask, dtype=self.context.weight.dtype).masked_fill_(~mask, -torch.inf)
        # of the kernels that take a mask, for some 32 tokens cuDNN's, which torch prefers, takes twice as long
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]) if tokens.is_cuda else nullcontext():
            for block in self.blocks:
                tokens = block(tokens, attention_bias[:, None, None, :])
        context, about = self._summary(self.norm(tokens), mask, recall)
        return Categorical(self.policy(torch.cat((context, about), dim=1)), legal), self.value(context).squeeze(1)

    def forward_to_heads(self, inputs: Mapping[str, Tensor], recall: Recall | None = None) -> Heads | None:
        from ludus.policies.gpu.kernels import tokens as kernels  # which needs triton

        mask = inputs["known"]
        if not kernels.fits(mask.shape[1], self.norm.normalized_shape[0], self.heads):
            return None
        tokens = self._tokens(inputs)
        rounded, added = self.context.weight.dtype, None
        for block in self.blocks:
            assert isinstance(block, AttentionBlock)
            projections = block.asked(kernels.add_norm(tokens, added, block.before_attention, rounded))
            attention_output = block.answered(kernels.attend(projections, mask, self.heads))
            wide = block.wide(kernels.add_norm(tokens, attention_output, block.before_layer, rounded))
            added = block.narrow(gelu(wide))
        tokens = kernels.add_norm(tokens, added, self.norm, torch.float32)
        return Heads(torch.cat(self._summary(tokens, mask, recall), dim=1), self.policy, self.value)

    def _tokens(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """The state's, then those of all groups [B, T, D], in float32."""
        tokens = [self.state_in(inputs["state"])[:, None]]
        for at, group in enumerate(self.groups):
            prefix = f"{at}."
            leaves = {name.removeprefix(prefix): part for name, part in inputs.items() if name.startswith(prefix)}
            tokens.append(group(leaves))
        return torch.cat([part.float() for part in tokens], dim=1)

    def _summary(self, tokens: Tensor, mask: Tensor, recall: Recall | None) -> tuple[Tensor, Tensor]:
        """Of what the blocks said: the context [B, C], and what each token in its place says [B, T * ABOUT]."""
        rest, there = tokens[:, 1:], mask[:, 1:, None]
        mean = (rest * there).sum(1) / there.sum(1).clamp(min=1)
        context = recalled(self.core, relu(self.context(torch.cat((tokens[:, 0], mean), dim=1))), recall)
        return context, (self.about(tokens) * mask[:, :, None]).flatten(1)


class Entities(nn.Module):
    """A vector for each entity of a group [B, N, D]: its numbers, what the game's tables say of its ids, its place."""

    def __init__(self, spec: GameSpec, leaves: tuple[Leaf, ...], width: int) -> None:
        super().__init__()
        self.ids = {leaf.name: table for leaf in leaves if (table := _table(spec, leaf)) is not None}
        self.numbers = {leaf.name: leaf.is_real for leaf in leaves if leaf.name not in self.ids}
        numbers = sum(prod(leaf.shape[1:]) for leaf in leaves if leaf.name not in self.ids)
        self.numbers_in = nn.Linear(numbers, width) if numbers else None
        self.place = nn.Parameter(torch.randn(leaves[0].shape[0], width) * 0.1)
        self.named = nn.ParameterDict()
        self.described = nn.ModuleDict()
        for table in dict.fromkeys(self.ids.values()):
            rows = torch.from_numpy(spec.tables[table].copy())
            self.register_buffer(f"table_{table}", rows)
            self.named[table] = nn.Parameter(torch.randn(len(rows), width) * 0.1)
            self.described[table] = nn.Linear(rows.shape[1], width, bias=False)

    def read(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Ids [B, N, ...] by leaf, and all numbers as one part."""
        parts = {name: obs[name].to(torch.int32)[:, :, None].flatten(2) for name in self.ids}
        if self.numbers:
            numbers = [scaled(obs[name], real)[:, :, None].flatten(2) for name, real in self.numbers.items()]
            parts["numbers"] = torch.cat(numbers, dim=2)
        return parts

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        vectors = self.place.expand(len(next(iter(parts.values()))), -1, -1)
        if self.numbers_in is not None:
            vectors = vectors + self.numbers_in(parts["numbers"])
        tables = {name: self._vectors(name) for name in self.named}
        for leaf, table in self.ids.items():
            vectors = vectors + nn.functional.embedding(parts[leaf], tables[table]).sum(2)
        return vectors

    def _vectors(self, table: str) -> Tensor:
        vectors: Tensor = self.named[table] + self.described[table](self.get_buffer(f"table_{table}"))
        return vectors


class AttentionBlock(nn.Module):
    """Attention over the known tokens, then a layer for each; what comes in is added to what goes out of both."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layer = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked = nn.Linear(width, 3 * width)  # queries, keys, values
        self.answered = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, GROWTH * width), nn.Linear(GROWTH * width, width)

    def forward(self, tokens: Tensor, attention_bias: Tensor) -> Tensor:
        """[B, T, D]; `attention_bias` [B, 1, 1, T] is added to the attention scores."""
        B, T, D = tokens.shape
        projections: Tensor = self.asked(self.before_attention(tokens)).view(B, T, 3, self.heads, -1)
        query, key, value = projections.permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, attn_mask=attention_bias)
        tokens = tokens + self.answered(attended.transpose(1, 2).reshape(B, T, D))
        layered: Tensor = self.narrow(gelu(self.wide(self.before_layer(tokens))))
        return tokens + layered


def grouped(spec: GameSpec) -> tuple[list[tuple[Leaf, ...]], tuple[Leaf, ...]]:
    """The leaves that describe entities, by how many there are, and those of the state. Raises ConfigError."""
    lengths = list(dict.fromkeys(leaf.shape[0] for leaf in spec.obs.leaves if len(leaf.shape) > 1))
    if not lengths:
        raise ConfigError(
            f"policy.net: transformer needs entities, leaves of two axes or more, and {spec.name} has none; take mlp"
        )
    of: dict[int, list[Leaf]] = {length: [] for length in lengths}
    state: list[Leaf] = []
    for leaf in spec.obs.leaves:
        listed = len(leaf.shape) > 1 or (len(leaf.shape) == 1 and not leaf.is_real and leaf.shape[0] in of)
        (of[leaf.shape[0]] if listed else state).append(leaf)
    return [tuple(leaves) for leaves in of.values()], tuple(state)


def _table(spec: GameSpec, leaf: Leaf) -> str | None:
    """Which table the ids of a leaf point into, by its name in the singular or as it is."""
    if leaf.is_real:
        return None
    return next((name for name in (leaf.name, leaf.name.removesuffix("s")) if name in spec.tables), None)
