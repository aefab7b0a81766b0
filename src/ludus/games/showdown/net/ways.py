"""What a slot of a joint action may choose: moves in all ways to use them, Pokemon to switch to, staying.

Of 40 ways to use a move about 7 are legal: only those are looked at, and of the second slot's only those that are legal
given the first's choice. Axes as in `pointer`, k choices of a slot, L choices that are looked at.
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

BENCH = SIDE + 1  # whom to switch to, and staying


class Ways:
    """A choice is the sum of its parts: a move, its target and its variant; or one of the bench."""

    def __init__(self, net: PointerNet, move: Tensor, aim: Tensor, bench: Tensor, hit: Tensor | None) -> None:
        """Of each slot's moves [B, S, 4, H], their targets [B, T, H], the bench [B, 7, H]; and what moves do to targets
        [B, S * T * 4 + 1, columns], the last row nothing."""
        self._net, self._hit = net, hit
        self._rows, self._k = len(move), net.slot_actions
        nothing = move.new_zeros(1, net.hidden)
        parts = (nothing, net.variant, move.flatten(0, 2), aim.flatten(0, 1), bench.flatten(0, 1))
        self._parts = torch.cat(parts)  # in float32, as the variants are, and so is all that is made of them
        self._places = _Places(net, self._rows, move.device)

    def scores(self, may: Tensor) -> Tensor:
        """Of the first slot's choices [B, k]; those that it may not make are masked."""
        at = to_score(may)
        with torch.autocast(may.device.type, enabled=False):
            return self._scores(at)

    def scores_given(self, first: Tensor, legal: Tensor) -> Tensor:
        """Of the second slot's choices [B, k], when the first [B] is known and what is legal then; others masked."""
        at = to_score(legal)
        with torch.autocast(legal.device.type, enabled=False):
            return self._scores_given(first, at)

    def _scores(self, at: Tensor) -> Tensor:
        net, row = self._net, at // self._k
        choice = at - row * self._k
        hidden = self._hidden(row, choice, 0)
        as_move, as_switch = (mv(hidden, layer.weight[0]) + layer.bias for layer in (net.move_out, net.switch_out))
        return self._placed(at, torch.where(choice < self._places.moves, as_move, as_switch))

    def _scores_given(self, first: Tensor, at: Tensor) -> Tensor:
        """A choice's score and what it says about the first's are one product: with a vector of its row."""
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
        """Of a slot's choices [L] in rows [L]: [L, H]."""
        net, places = self._net, self._places
        ids = places.first[slot].index_select(0, choice) + row[:, None] * places.stride.index_select(0, choice)
        hidden = sum_rows(self._parts, ids)
        if net.move_hit is not None and self._hit is not None:
            struck = row * self._hit.shape[1] + places.hit[slot].index_select(0, choice)
            hit = self._hit.flatten(0, 1).index_select(0, struck)
            hidden = torch.addmm(hidden, hit, net.move_hit.weight.t())
        return relu(hidden, inplace=True)

    def _placed(self, at: Tensor, score: Tensor) -> Tensor:
        masked = score.new_full((self._rows * self._k,), MASKED)
        return masked.index_copy(0, at, score).view(self._rows, self._k)


def to_score(mask: Tensor) -> Tensor:
    """Which of B * k choices [L] to score: the wanted ones [B, k]. At play on a GPU, all: how many are wanted would
    have to be waited for, which no captured graph can do."""
    if mask.is_cuda and not torch.is_grad_enabled():
        return torch.arange(mask.numel(), device=mask.device)
    return mask.reshape(-1).nonzero().squeeze(1)


class _Places:
    """Where a choice's parts stand among those of B rows: `first` and, for each row, a `stride` further [k, 3]."""

    def __init__(self, net: PointerNet, rows: int, device: torch.device) -> None:
        S, T, V = net.slots, net.targets, net.variants
        aimed = T * MOVES
        self.moves = V * aimed  # choices before this are moves
        choice = torch.arange(net.slot_actions, device=device)
        is_move = choice < self.moves
        move, target, variant = choice % MOVES, choice // MOVES % T, choice // aimed
        moves, aims = 1 + V, 1 + V + rows * S * MOVES  # where these begin; nothing is first
        bench = aims + rows * T + choice - self.moves
        self.first, self.hit = [], []
        for slot in range(S):
            part = torch.where(is_move, moves + slot * MOVES + move, bench)
            others = (torch.where(is_move, aims + target, 0), torch.where(is_move, 1 + variant, 0))
            self.first.append(torch.stack((part, *others), dim=1))
            self.hit.append(torch.where(is_move, slot * aimed + choice % aimed, S * aimed))
        strides = (torch.where(is_move, S * MOVES, BENCH), torch.where(is_move, T, 0), torch.zeros_like(choice))
        self.stride = torch.stack(strides, dim=1)
