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
from torch.nn.functional import gelu, relu

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical
from ludus.policies.nets.attention import AttentionBlock, refuse_unfit
from ludus.policies.nets.entity_tokens import Entities
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.layers import linear
from ludus.policies.nets.net import Net
from ludus.policies.nets.reals import scaled
from ludus.policies.nets.recurrence import Recall, build_core, recalled
from ludus.policies.nets.values import build_bins
from ludus.spec import GameSpec, Leaf

ABOUT = 8  # features of each token that the policy head reads directly


class TransformerNet(Net):
    """`policy.layers` attention blocks over all tokens. The context [B, C] is computed from the state token and the
    mean of the known entity tokens. The value head reads the context; the policy head also reads ABOUT features per
    token."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        refuse_unfit(config, "transformer")
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
        self.value = linear(C, config.value.bins, gain=0.1)
        self.bins = build_bins(config.value)
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

    def freeze_tables(self) -> None:
        for group in self.groups:
            assert isinstance(group, Entities)
            group.freeze()

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
