"""The features of the pointer net as column indices into a flat observation, so that each is one `index_select`.

Slicing and concatenating leaves would take thirty small operations per forward pass, which cost more than the products
of a small batch. Here they are done once, when the net is built, on column indices instead of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import prod

import torch
from torch import Tensor, nn

from ludus.policies.nets.reals import reals
from ludus.spec import Leaf

SIDE = 6  # Pokemon per side
MOVES = 4  # moves per Pokemon
OPTIONAL = ("last_turn", "pairs", "form_matchup", "form_threat")
FEATURES = ("own", "foe", "own_active", "foe_active", "state")


class FeatureColumns(nn.Module):
    """Computes the features of Pokemon and of the moves to choose from. Axes: B rows, S active slots per side.

    - `foe`: for each Pokemon of the foe, the columns that both sides have (leaves `pokemon` and `move_state`).
    - `own`: for each own Pokemon, `own_only` columns on the damage that it and the active foes may do to each other
      (`matchup`, `threat`, `duel`, `pairs`), then the columns that both sides have.
    - `own_active`: boosts, volatiles and what happened in the last turn.
    - `foe_active`: the same, then `threat` and `duel` against the own active Pokemon.
    - `state`: columns of each move that may be chosen, and of what changing its user's form would do.

    A Pokemon's moves enter its features as a maximum or mean over the moves, so that their order does not matter.

    `matchup`, `threat` and `duel` exist only in full observations, the leaves of `OPTIONAL` not in all of these. The
    buffers hold the column indices of each feature.
    """

    by_move: Tensor
    own: Tensor
    foe: Tensor
    own_active: Tensor
    foe_active: Tensor
    state: Tensor

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        super().__init__()
        shapes = {name: leaf.shape for name, leaf in leaves.items()}
        self.slots = S = shapes["boosts"][0] // 2
        full = "matchup" in shapes
        self.leaves = ["pokemon", "move_state", *(("matchup", "threat", "duel") if full else ())]
        self.leaves += [name for name in OPTIONAL if name in shapes]
        self.alike = [[*names] for _, names in groupby(self.leaves, lambda name: leaves[name].dtype)]
        total, at = 0, {}
        for name in (*self.leaves, "boosts", "volatiles"):
            size = prod(shapes[name])
            at[name] = torch.arange(total, total + size).view(shapes[name])
            total += size

        groups = [at["move_state"].transpose(0, 1)]  # [moves, ...] each
        if full:
            groups += [at["matchup"].transpose(0, 1), at["threat"].permute(1, 2, 0, 3)]  # [moves, 6, S, columns]
        self._keep("by_move", torch.cat([group.flatten(1) for group in groups], dim=1))
        best: list[Tensor] = []
        mean: list[Tensor] = []
        for pooled in (best, mean):
            for group in groups:
                size = prod(group.shape[1:])
                pooled.append(torch.arange(total, total + size).view(group.shape[1:]))
                total += size

        common = torch.cat((at["pokemon"], mean[0]), dim=1)  # [12, ...]
        live = torch.cat([at[name] for name in ("boosts", "volatiles", "last_turn") if name in at], dim=1)  # [2S, ...]
        own, foe, foe_live, state = [common[:SIDE]], [common[SIDE:]], [live[S:]], [at["move_state"][:S]]
        self.own_only = 0
        if full:
            own_parts = (best[1], mean[1], best[2], mean[2], at["duel"], *([at["pairs"]] if "pairs" in at else []))
            summary = torch.cat([part.flatten(1) for part in own_parts], dim=1)
            self.own_only = summary.shape[1]
            own.insert(0, summary)
            foe_live += [part[:S].transpose(0, 1).flatten(1) for part in (best[2], mean[2], at["duel"])]
            if S == 1:
                state += [at["matchup"][:S, :, 0], at["duel"][:S].expand(-1, MOVES, -1)]
        state += _form_columns(at)
        self._keep("own", torch.cat(own, dim=1))
        self._keep("foe", torch.cat(foe, dim=1))
        self._keep("own_active", live[:S])
        self._keep("foe_active", torch.cat(foe_live, dim=1))
        self._keep("state", torch.cat(state, dim=2))

    def forward(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the features of observations: `own` and `foe` [B, 6, columns], `own_active` and `foe_active`
        [B, S, columns], `state` [B, S, 4, columns]."""
        measures = [reals(torch.cat([obs[name].flatten(1) for name in names], dim=1)) for names in self.alike]
        values = torch.cat((*measures, obs["boosts"].flatten(1) * (1 / 6), obs["volatiles"].flatten(1).float()), dim=1)
        by_move = _gather(values, self.by_move)
        values = torch.cat((values, by_move.amax(1), by_move.mean(1)), dim=1)
        return {name: _gather(values, self.get_buffer(name)) for name in FEATURES}

    def _keep(self, name: str, places: Tensor) -> None:
        """Store column indices as a buffer that is not part of checkpoints."""
        self.register_buffer(name, places.contiguous(), persistent=False)


def _form_columns(at: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the columns [S, 4, ...] of what each own move, and all of the foe's moves, do if the user changes its
    form. The leaves are [forms, S, 4, foe slots, columns]."""
    if "form_matchup" not in at:
        return []
    on_foe = at["form_matchup"].permute(1, 2, 0, 3, 4).flatten(2)
    on_user = at["form_threat"].transpose(0, 1).flatten(1)[:, None].expand(-1, MOVES, -1)
    return [on_foe, on_user]


def _gather(values: Tensor, places: Tensor) -> Tensor:
    """Return the columns of values [B, numbers] at `places`, as [B, *places.shape]."""
    return values.index_select(1, places.view(-1)).view(-1, *places.shape)
