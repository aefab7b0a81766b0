"""The net `tokens` of Showdown: a transformer over the Pokemon of both sides, the moves to choose from and the field.

It differs from the net `pointer` in what lies between the features and the scores of the actions: here every Pokemon
and every move attends to all others before it is scored, so that a move can be compared with the switches, and a foe
with the own bench. Features, scores and heads are those of `PointerNet`.

Axes: B rows, T tokens, S active slots per side, D width, H = D/2, C context. The tokens are the field, the own six
Pokemon, the foe's six, and the four moves of each own active slot: T = 13 + 4 S.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import embedding, relu

from ludus.config.settings import PolicyConfig
from ludus.games.showdown.net.columns import MOVES, SIDE
from ludus.games.showdown.net.encoding import ENCODED, parted, precision_on
from ludus.games.showdown.net.pointer import Encoded, PointerNet
from ludus.games.showdown.net.sums import sum_rows
from ludus.policies.nets.attention import AttentionBlock, refuse_unfit
from ludus.policies.nets.layers import linear
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.policies.cpu.chooser import Chooser

BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # cuDNN's is slower here


class TokenNet(PointerNet):
    """`policy.layers` attention blocks with `policy.heads` heads of `policy.width` in all."""

    exact: ClassVar[tuple[str, ...]] = (*PointerNet.exact, "field_in", "move_in")

    def build_context(self, config: PolicyConfig, field: int) -> None:
        refuse_unfit(config, "tokens")
        S, D = self.slots, self.width
        self.field_in = linear(field, D)
        self.move_in = linear(self.columns.state.shape[2], D, bias=False)
        self.place = nn.Parameter(torch.randn(3, S, D) * 0.1)  # of the active Pokemon of both sides, and of their moves
        self.blocks = nn.ModuleList(AttentionBlock(D, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(D)
        self.context_out = linear(3 * D, config.context)
        self.move_attended = linear(D, self.hidden, bias=False)

    def encode(self, inputs: Mapping[str, Tensor], names: Tensor) -> Encoded:
        S, D = self.slots, self.width
        tokens = self._tokens(inputs, names)
        with sdpa_kernel(BACKENDS) if tokens.is_cuda else nullcontext():
            for block in self.blocks:
                tokens = block(tokens, None)
        field, own, foe, moves = torch.split(self.norm(tokens), [1, SIDE, SIDE, S * MOVES], dim=1)
        context = relu(self.context_out(torch.cat((field[:, 0], own.mean(1), foe.mean(1)), dim=1)))
        attended = self.move_attended(moves).view(-1, S, MOVES, self.hidden)
        return Encoded(own, own[:, :S].reshape(-1, S * D), foe[:, :S].reshape(-1, S * D), context, attended)

    def chooser(self, spec: GameSpec) -> Chooser | None:
        """Return None: at the size of this net, PyTorch's per-op overhead is small."""
        return None

    def _tokens(self, inputs: Mapping[str, Tensor], names: Tensor) -> Tensor:
        """Return the tokens [B, T, D] before the first block. They are computed in float32 on a GPU, because HP and
        damage would lose digits, and in the dtype of autocast on a CPU, like those of `PointerNet`."""
        S, D, device = self.slots, self.width, names.device.type
        ids, dtype = inputs["names"], precision_on(device)
        with torch.autocast(device, enabled=False):
            table = names.to(dtype)
            hidden = sum_rows(table, ids.flatten(0, 1)).view(-1, 2 * SIDE, D)
            own, foe, own_active, foe_active = (
                functional.linear(inputs[name].to(dtype), weight.to(dtype))
                for name, weight in zip(ENCODED, parted(self.pokemon_in.weight, self.columns), strict=True)
            )
            bench = (0, 0, 0, SIDE - S)
            own, foe = own + functional.pad(own_active, bench), foe + functional.pad(foe_active, bench)
            moves = functional.linear(inputs["state"].to(dtype), self.move_in.weight.to(dtype))
            moves = relu(moves + embedding(ids[:, :S, :MOVES], table)) + self.place[2][:, None].to(dtype)
            field = functional.linear(inputs["field"].to(dtype), self.field_in.weight.to(dtype))
        pokemon = self.pokemon_out(relu(hidden + torch.cat((own, foe), dim=1))).float()
        places = functional.pad(self.place[:2], bench).flatten(0, 1)
        field = field[:, None].float() + self.field_in.bias
        return torch.cat((field, pokemon + places, moves.flatten(1, 2).float()), dim=1)
