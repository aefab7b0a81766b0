"""Scores of the choices of a slot in doubles: moves with target and variant, switches, and passing.

Of about 40 ways to use a move, about 7 are legal. Only legal choices are scored; for the second slot, only those that
are legal given the first slot's choice. On a GPU, `DenseWays` scores all choices instead. Axes as in `pointer.py`; also
k choices per slot, L scored choices of all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, mv
from torch.nn.functional import relu

from ludus.games.showdown.net.columns import MOVES, SIDE
from ludus.games.showdown.net.sums import sum_rows
from ludus.policies.distributions import MASKED

if TYPE_CHECKING:
    from ludus.games.showdown.net.pointer import PointerNet

BENCH = SIDE + 1  # the switches, and passing


class Ways:
    """Scores choices of B rows. The hidden vector of a choice is a sum of parts: for a move, the vectors of the move,
    its target and its variant; for a switch or passing, one vector."""

    def __init__(self, net: PointerNet, move: Tensor, aim: Tensor, bench: Tensor, hit: Tensor | None) -> None:
        """move: vectors of each slot's moves [B, S, 4, H]. aim: vectors of the targets [B, T, H]. bench: vectors of the
        six switches and of passing [B, 7, H]. hit: effect of each move on each target [B, S * T * 4 + 1, columns], the
        last row for choices that hit nobody; None if the observations are not full."""
        self._net, self._hit = net, hit
        self._rows, self._k = len(move), net.slot_actions
        nothing = move.new_zeros(1, net.hidden)
        parts = (nothing, net.variant, move.flatten(0, 2), aim.flatten(0, 1), bench.flatten(0, 1))
        self._parts = torch.cat(parts)  # float32, because the variants are; so are the scores
        self._places = _Places(net, self._rows, move.device)

    def scores(self, may: Tensor) -> Tensor:
        """Return the logits [B, k] of the first slot's choices. They have no meaning where `may` [B, k] is False."""
        at = to_score(may)
        with torch.autocast(may.device.type, enabled=False):
            return self._scores(at)

    def scores_given(self, first: Tensor, legal: Tensor) -> Tensor:
        """Return the logits [B, k] of the second slot's choices, given the first slot's choices [B] and the mask
        `legal` [B, k] that follows from them. They have no meaning where the mask is False."""
        at = to_score(legal)
        with torch.autocast(legal.device.type, enabled=False):
            return self._scores_given(first, at)

    def _scores(self, at: Tensor) -> Tensor:
        """Compute `scores` for the choices `at` [L], which are indices into [B * k]."""
        net, row = self._net, at // self._k
        choice = at - row * self._k
        hidden = self._hidden(row, choice, 0)
        as_move, as_switch = (mv(hidden, layer.weight[0]) + layer.bias for layer in (net.move_out, net.switch_out))
        return self._placed(at, torch.where(choice < self._places.moves, as_move, as_switch))

    def _scores_given(self, first: Tensor, at: Tensor) -> Tensor:
        """Compute `scores_given` for the choices `at` [L]. A choice's own score and its bilinear score with the first
        choice are both linear in its hidden vector, so both are one product with a vector per row."""
        net, every = self._net, torch.arange(self._rows, device=first.device)
        first_vector = net.pair_left(self._hidden(every, first, 0))  # [B, r]
        outs = (net.move_out, net.switch_out)
        vectors = torch.stack([torch.addmm(out.weight, first_vector, net.pair_right.weight) for out in outs], dim=1)
        constants = torch.stack([mv(first_vector, net.pair_right.bias) + out.bias for out in outs], dim=1)
        row = at // self._k
        choice = at - row * self._k
        hidden = self._hidden(row, choice, 1)
        kind = row * 2 + (choice >= self._places.moves)
        score = (hidden * sum_rows(vectors.flatten(0, 1), kind[:, None])).sum(1) + constants.view(-1)[kind]
        return self._placed(at, score)

    def _hidden(self, row: Tensor, choice: Tensor, slot: int) -> Tensor:
        """Return the hidden vectors [L, H] of choices [L] of a slot, in the rows [L]."""
        net, places = self._net, self._places
        ids = places.first[slot].index_select(0, choice) + row[:, None] * places.stride.index_select(0, choice)
        hidden = sum_rows(self._parts, ids)
        if net.move_hit is not None and self._hit is not None:
            struck = row * self._hit.shape[1] + places.hit[slot].index_select(0, choice)
            hit = self._hit.flatten(0, 1).index_select(0, struck)
            hidden = torch.addmm(hidden, hit, net.move_hit.weight.t())
        return relu(hidden, inplace=True)

    def _placed(self, at: Tensor, score: Tensor) -> Tensor:
        """Return scores [L] as logits [B, k]; MASKED elsewhere."""
        masked = score.new_full((self._rows * self._k,), MASKED)
        return masked.index_copy(0, at, score).view(self._rows, self._k)


def to_score(mask: Tensor) -> Tensor:
    """Return the indices [L] into [B * k] of the choices to score: those where `mask` [B, k] is True."""
    return mask.reshape(-1).nonzero().squeeze(1)


class _Places:
    """Indices of the parts of each choice.

    `first[slot]` [k, 3]: indices into `Ways._parts` for row 0. `stride` [k, 3]: what to add for each further row.
    `hit[slot]` [k]: indices into the second axis of `hit` in `Ways`.
    """

    def __init__(self, net: PointerNet, rows: int, device: torch.device) -> None:
        S, T, V = net.slots, net.targets, net.variants
        aimed = T * MOVES
        self.moves = V * aimed  # choices before this are moves
        choice = torch.arange(net.slot_actions, device=device)
        is_move = choice < self.moves
        move, target, variant = choice % MOVES, choice // MOVES % T, choice // aimed
        moves, aims = 1 + V, 1 + V + rows * S * MOVES  # where these parts begin; the zero vector is at 0
        bench = aims + rows * T + choice - self.moves
        self.first, self.hit = [], []
        for slot in range(S):
            part = torch.where(is_move, moves + slot * MOVES + move, bench)
            others = (torch.where(is_move, aims + target, 0), torch.where(is_move, 1 + variant, 0))
            self.first.append(torch.stack((part, *others), dim=1))
            self.hit.append(torch.where(is_move, slot * aimed + choice % aimed, S * aimed))
        strides = (torch.where(is_move, S * MOVES, BENCH), torch.where(is_move, T, 0), torch.zeros_like(choice))
        self.stride = torch.stack(strides, dim=1)
