"""The net `transformer`: a set transformer for games whose observations list entities. Each entity is one token.

Axes: B rows, N entities of a group, T tokens, D width, C context.

A leaf with two or more axes lists entities along its first axis. Leaves with the same number of entities form a group:
they describe the same entities. A one-dimensional integer leaf of that length belongs to the group too. All other
leaves describe the state as a whole and form the first token. An entity whose numbers and ids are all zero counts as
unknown, and its token is masked.
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

GROWTH = 4  # width of a block's feed-forward layer, as a multiple of D
ABOUT = 8  # features of each token that the policy head reads directly


def refuse_unfit(config: PolicyConfig) -> None:
    """Raise ConfigError if the net is a transformer and `policy.heads` does not divide `policy.width`."""
    if config.net == "transformer" and config.width % config.heads:
        raise ConfigError(f"policy.heads: {config.heads} must divide policy.width, which is {config.width}")


class TransformerNet(Net):
    """`policy.layers` attention blocks over all tokens. The context [B, C] is computed from the state token and the
    mean of the known entity tokens. The value head reads the context; the policy head also reads ABOUT features per
    token."""

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
        """Return `state` [B, numbers], `known` [B, T] (False for masked tokens) and, for each group i, the tensors of
        `Entities.read` as `i.<name>`."""
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
        # PyTorch would prefer cuDNN's attention, which is slower for masked sequences as short as these
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]) if tokens.is_cuda else nullcontext():
            for block in self.blocks:
                tokens = block(tokens, attention_bias[:, None, None, :])
        context, about = self._summary(self.norm(tokens), mask, recall)
        return Categorical(self.policy(torch.cat((context, about), dim=1)), legal), self.value(context).squeeze(1)

    def forward_to_heads(self, inputs: Mapping[str, Tensor], recall: Recall | None = None) -> Heads | None:
        from ludus.policies.gpu.kernels import tokens as kernels  # here, because it imports triton

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
        """Return the tokens [B, T, D] in float32: the state token first, then the entities of all groups."""
        tokens = [self.state_in(inputs["state"])[:, None]]
        for at, group in enumerate(self.groups):
            prefix = f"{at}."
            leaves = {name.removeprefix(prefix): part for name, part in inputs.items() if name.startswith(prefix)}
            tokens.append(group(leaves))
        return torch.cat([part.float() for part in tokens], dim=1)

    def _summary(self, tokens: Tensor, mask: Tensor, recall: Recall | None) -> tuple[Tensor, Tensor]:
        """Return the context [B, C] and the features of all tokens for the policy head [B, T * ABOUT], given the output
        tokens [B, T, D] of the last block and the mask of known tokens [B, T]."""
        rest, there = tokens[:, 1:], mask[:, 1:, None]
        mean = (rest * there).sum(1) / there.sum(1).clamp(min=1)
        context = recalled(self.core, relu(self.context(torch.cat((tokens[:, 0], mean), dim=1))), recall)
        return context, (self.about(tokens) * mask[:, :, None]).flatten(1)


class Entities(nn.Module):
    """Encodes the N entities of a group as tokens [B, N, D]: the sum of a linear layer over their numbers, an embedding
    for each id, and a learned vector for their position. An id's embedding is a learned vector plus a linear layer over
    its row in the game's table."""

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
        """Return the ids [B, N, ids] of each id leaf by name, and all other numbers [B, N, numbers] as `numbers`."""
        parts = {name: obs[name].to(torch.int32)[:, :, None].flatten(2) for name in self.ids}
        if self.numbers:
            numbers = [scaled(obs[name], real)[:, :, None].flatten(2) for name, real in self.numbers.items()]
            parts["numbers"] = torch.cat(numbers, dim=2)
        return parts

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Return the tokens [B, N, D] of the tensors that `read` returned."""
        vectors = self.place.expand(len(next(iter(parts.values()))), -1, -1)
        if self.numbers_in is not None:
            vectors = vectors + self.numbers_in(parts["numbers"])
        tables = {name: self._vectors(name) for name in self.named}
        for leaf, table in self.ids.items():
            vectors = vectors + nn.functional.embedding(parts[leaf], tables[table]).sum(2)
        return vectors

    def _vectors(self, table: str) -> Tensor:
        """Return the embeddings [ids, D] of all ids of a table."""
        vectors: Tensor = self.named[table] + self.described[table](self.get_buffer(f"table_{table}"))
        return vectors


class AttentionBlock(nn.Module):
    """Self-attention over the known tokens, then a feed-forward layer for each token. Both have a residual connection
    and normalise their input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layer = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked = nn.Linear(width, 3 * width)  # queries, keys, values
        self.answered = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, GROWTH * width), nn.Linear(GROWTH * width, width)

    def forward(self, tokens: Tensor, attention_bias: Tensor) -> Tensor:
        """Return tokens [B, T, D] for tokens [B, T, D]. `attention_bias` [B, 1, 1, T] is added to the attention scores;
        it is -inf for masked tokens."""
        B, T, D = tokens.shape
        projections: Tensor = self.asked(self.before_attention(tokens)).view(B, T, 3, self.heads, -1)
        query, key, value = projections.permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, attn_mask=attention_bias)
        tokens = tokens + self.answered(attended.transpose(1, 2).reshape(B, T, D))
        layered: Tensor = self.narrow(gelu(self.wide(self.before_layer(tokens))))
        return tokens + layered


def grouped(spec: GameSpec) -> tuple[list[tuple[Leaf, ...]], tuple[Leaf, ...]]:
    """Return the leaves of each group of entities, and the leaves that describe the state as a whole. Raises
    ConfigError if no leaf lists entities."""
    lengths = list(dict.fromkeys(leaf.shape[0] for leaf in spec.obs.leaves if len(leaf.shape) > 1))
    if not lengths:
        raise ConfigError(
            f"policy.net: transformer needs entities (leaves with two or more axes), and {spec.name} has none; use mlp"
        )
    of: dict[int, list[Leaf]] = {length: [] for length in lengths}
    state: list[Leaf] = []
    for leaf in spec.obs.leaves:
        listed = len(leaf.shape) > 1 or (len(leaf.shape) == 1 and not leaf.is_real and leaf.shape[0] in of)
        (of[leaf.shape[0]] if listed else state).append(leaf)
    return [tuple(leaves) for leaves in of.values()], tuple(state)


def _table(spec: GameSpec, leaf: Leaf) -> str | None:
    """Return the name of the table that the ids of a leaf index into, or None if the leaf holds no ids. The table has
    the name of the leaf, with or without a final s."""
    if leaf.is_real:
        return None
    return next((name for name in (leaf.name, leaf.name.removesuffix("s")) if name in spec.tables), None)
