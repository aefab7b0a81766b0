"""Scores of all choices of a slot in doubles, legal or not: what `Ways` computes, with shapes that depend on no data.

A CUDA graph cannot contain an operation whose output size depends on data. On a GPU, sums over dense arrays are also
faster than gathering the vectors of the legal choices. Axes as in `ways.py`; also M = V * T * 4 uses of a move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from ludus.games.showdown.net.columns import MOVES

if TYPE_CHECKING:
    from ludus.games.showdown.net.pointer import PointerNet


class DenseWays:
    """Scores the choices of B rows. Takes and returns what `Ways` does."""

    def __init__(self, net: PointerNet, move: Tensor, aim: Tensor, bench: Tensor, hit: Tensor | None) -> None:
        self._net = net
        self._move, self._aim, self._bench = move.float(), aim.float(), bench.float()  # so are the scores
        self._hit = hit if net.move_hit is not None else None
        self._moves = net.variants * net.targets * MOVES
        self._first: Tensor | None = None

    def scores(self, may: Tensor) -> Tensor:
        """Return the logits [B, k] of the first slot's choices. They have no meaning where `may` [B, k] is False."""
        net = self._net
        with torch.autocast(may.device.type, enabled=False):
            moves, others = self._parted(self._first_hidden())
            return torch.cat((net.move_out(moves), net.switch_out(others)), dim=1).squeeze(2)

    def scores_given(self, first: Tensor, legal: Tensor) -> Tensor:
        """Return the logits [B, k] of the second slot's choices, given the first slot's choices [B]. They have no
        meaning where the mask `legal` [B, k] is False."""
        net = self._net
        with torch.autocast(legal.device.type, enabled=False):
            index = first[:, None, None].expand(-1, 1, net.hidden)
            first_vector = net.pair_left(self._first_hidden().gather(1, index).squeeze(1))  # [B, r]
            parts = self._parted(self._hidden(1))
            logits = []
            for part, out in zip(parts, (net.move_out, net.switch_out), strict=True):
                vector = torch.addmm(out.weight, first_vector, net.pair_right.weight)  # [B, H]
                constant = linear(first_vector, net.pair_right.bias[None], out.bias)  # [B, 1]
                logits.append(torch.baddbmm(constant[:, None], part, vector[:, :, None]))
            return torch.cat(logits, dim=1).squeeze(2)

    def _parted(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return views of the hidden vectors [B, k, H] for moves [B, M, H] and for switches and passing [B, 7, H]."""
        return hidden[:, : self._moves], hidden[:, self._moves :]

    def _first_hidden(self) -> Tensor:
        if self._first is None:
            self._first = self._hidden(0)
        return self._first

    def _hidden(self, slot: int) -> Tensor:
        """Return the hidden vectors [B, k, H] of all choices of a slot."""
        net = self._net
        aimed = (self._move[:, slot, None] + self._aim[:, :, None]).flatten(1, 2)  # [B, T * 4, H]
        if net.move_hit is not None and self._hit is not None:
            ways = aimed.shape[1]
            aimed = aimed + net.move_hit(self._hit[:, slot * ways : (slot + 1) * ways])
        moves = (aimed[:, None] + net.variant[:, None]).flatten(1, 2)
        return relu(torch.cat((moves, self._bench), dim=1), inplace=True)
