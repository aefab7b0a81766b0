"""A pointer net for Showdown: Pokemon and moves share encoders, each action is scored by its features and the context.

Axes: B rows, P = 12 Pokemon (6 own, 6 foe), S active slots a side, V variants, T targets, D width, H = D/2, C context.

What is constant about a move or a species is encoded once a forward for the whole table and then looked up by id:
a batch of 500 rows names 24,000 moves, the table has 165 to 950.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, pad

from ludus.config.schema import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.distributions import Categorical, Distribution, Pairs
from ludus.policies.nets.layers import linear
from ludus.spec import GameSpec

SIDE = 6  # Pokemon a side
PAIRING = 8  # rank of what two slots' actions say about each other in a joint action
NAMES = ("species", "ability", "item", "types", "moves")
LEAVES = (*NAMES, "pokemon", "move_state", "boosts", "volatiles", "field")


class PointerNet(nn.Module):
    """What to do and what to expect, given the leaves of Showdown observations."""

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        shapes = {leaf.name: leaf.shape for leaf in spec.obs.leaves}
        missing = [name for name in LEAVES if name not in shapes]
        if missing:
            raise ConfigError(
                f"policy.net: pointer needs the leaves {', '.join(missing)}, which {spec.name} does not have"
            )
        D, H, C = config.width, config.width // 2, config.context
        self.slots = shapes["boosts"][0] // 2
        self.full = "matchup" in shapes
        self.targets, self.variants = (
            int(cast(int, spec.layout["targets"])),
            len(cast(list[str], spec.layout["variants"])),
        )
        self.names = Names(spec, D)
        self.pokemon_in = linear(self.features_size(shapes), D)
        self.side = nn.Parameter(torch.randn(2, 1, D) * 0.1)
        self.pokemon_out = linear(D, D)

        self.context_in = linear((2 * self.slots + 4) * D + shapes["field"][0], C)
        self.context_out = linear(C, C)
        self.value_in = linear(C, D)
        self.value_out = linear(D, 1, gain=0.1)

        hit = shapes["matchup"][-1] if self.full else 0
        self.move_name = linear(D, H)
        self.move_state = linear(shapes["move_state"][-1] + (hit if self.targets == 1 else 0), H)
        self.move_hit = linear(hit, H) if self.full and self.targets > 1 else None
        self.move_context = linear(C, H)
        self.move_actor = linear(D, H)
        self.move_target = linear(D, H)
        self.no_target = nn.Parameter(torch.zeros(1, 1, H))
        self.variant = nn.Parameter(torch.randn(self.variants, 1, 1, H) * 0.1)
        self.move_out = linear(H, 1, gain=0.01)

        self.switch_in = linear(D, H)
        self.switch_context = linear(C, H)
        self.switch_out = linear(H, 1, gain=0.01)

        self.joint = self.slots > 1
        if self.joint:
            self.stay = nn.Parameter(torch.zeros(1, 1, H))
            self.pair_left = linear(H, PAIRING, gain=0.1)
            self.pair_right = linear(H, PAIRING, gain=0.1)
        preview = spec.tables.get("preview")
        self.picks: Tensor
        self.register_buffer("picks", torch.zeros(0, 1) if preview is None else torch.from_numpy(preview.copy()))
        if preview is not None:
            self.preview_out = linear(D, 2, gain=0.01)  # as one of the leads, as one of the rest

    def forward(self, obs: Mapping[str, Tensor], legal: Tensor) -> tuple[Distribution, Tensor]:
        names = self.names.table()
        pokemon = self.encode_pokemon(obs, names)  # [B, 12, D]
        S = self.slots
        own, bench, foe, unseen = torch.split(pokemon, [S, SIDE - S, S, SIDE - S], dim=1)
        context = self.encode_context((own, bench, foe, unseen), obs["field"])  # [B, C]
        value = self.value_out(torch.relu(self.value_in(context))).squeeze(-1)

        moves = self.move_hidden(obs, names, own, foe, context)  # [B, S, V*T*4, H]
        switches = self.switch_hidden(own, bench, context)  # [B, 6 or 7, H]
        by_switch = self.switch_out(switches).transpose(1, 2).expand(-1, S, -1)
        scores = torch.cat((self.move_out(moves).squeeze(-1), by_switch), dim=2)  # [B, S, slot actions]
        first = scores[:, 0]
        if len(self.picks):
            first = torch.cat((first, self.preview_scores(torch.cat((own, bench), dim=1))), dim=1)
        if not self.joint:
            return Categorical(first, legal), value
        left, right = torch.cat((moves, switches[:, None].expand(-1, S, -1, -1)), dim=2).unbind(1)
        return Pairs(first, scores[:, 1], self.pair_left(left), self.pair_right(right), legal), value

    def freeze_tables(self) -> None:
        """Encode the tables now, for every forward without gradients; call it again when weights have changed."""
        self.names.freeze()

    def features_size(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        size = shapes["pokemon"][1] + shapes["move_state"][2] + shapes["boosts"][1] + shapes["volatiles"][1]
        if self.full:
            slots, columns = shapes["matchup"][2:]
            size += slots * (4 * columns + shapes["typing"][2]) + 2 * slots * columns
        return size

    def features(self, obs: Mapping[str, Tensor]) -> Tensor:
        """The state of each Pokemon [B, 12, ...]; what only actives, or only one side, has is zero for the others.

        Moves enter by their best and their mean, so that their order does not matter.
        """
        bench = SIDE - self.slots
        active = torch.cat((obs["boosts"].float() / 6, obs["volatiles"].float()), dim=2)
        own, foe = (pad(half, (0, 0, 0, bench)) for half in active.chunk(2, dim=1))
        parts = [obs["pokemon"], obs["move_state"].mean(2), torch.cat((own, foe), dim=1)]
        if self.full:
            gives, takes = obs["matchup"], obs["threat"].permute(0, 3, 2, 1, 4)  # both [B, 6, moves, S, columns]
            summary = (gives.amax(2), gives.mean(2), takes.amax(2), takes.mean(2), obs["typing"])
            parts.append(pad(torch.cat([part.flatten(2) for part in summary], dim=2), (0, 0, 0, SIDE)))
            threat = obs["threat"][:, :, :, : self.slots].flatten(3)  # [B, S, moves, own slots * columns]
            parts.append(pad(torch.cat((threat.amax(2), threat.mean(2)), dim=2), (0, 0, SIDE, bench)))
        return torch.cat(parts, dim=2)

    def encode_pokemon(self, obs: Mapping[str, Tensor], names: Tensor) -> Tensor:
        known = self.names.look_up(obs, names)  # [B, 12, D]
        sides = self.side.expand(2, SIDE, -1).flatten(0, 1)
        return torch.relu(self.pokemon_out(torch.relu(self.pokemon_in(self.features(obs)) + known + sides)))

    def encode_context(self, groups: tuple[Tensor, Tensor, Tensor, Tensor], field: Tensor) -> Tensor:
        own, bench, foe, unseen = groups
        seen = (own.flatten(1), foe.flatten(1), bench.mean(1), bench.amax(1), unseen.mean(1), unseen.amax(1), field)
        return torch.relu(self.context_out(torch.relu(self.context_in(torch.cat(seen, dim=1)))))

    def move_hidden(
        self, obs: Mapping[str, Tensor], names: Tensor, own: Tensor, foe: Tensor, context: Tensor
    ) -> Tensor:
        """One vector for each way to use a move [B, S, V*T*4, H]."""
        S = self.slots
        known = embedding(obs["moves"][:, :S].long(), self.names.moves(names))
        state = obs["move_state"][:, :S]
        if self.full and self.targets == 1:
            state = torch.cat((state, obs["matchup"][:, :S, :, 0]), dim=3)
        user = self.move_actor(own) + self.move_context(context)[:, None]
        move = self.move_name(known) + self.move_state(state) + user[:, :, None]  # [B, S, 4, H]
        if self.targets == 1:
            aimed = (move + self.move_target(foe)[:, :, None])[:, :, None]  # [B, S, T=1, 4, H]
        else:
            aim = self.move_target(torch.cat((foe, own), dim=1))
            aim = torch.cat((self.no_target.expand(len(aim), -1, -1), aim), dim=1)  # [B, T=5, H]
            aimed = move[:, :, None] + aim[:, None, :, None]  # [B, S, T, 4, H]
            if self.move_hit is not None:
                hit = obs["matchup"][:, :S].transpose(2, 3)  # [B, S, foe slots, 4, columns]
                spread = hit.mean(2, keepdim=True)  # a move without a chosen target may strike both
                aimed = aimed + self.move_hit(torch.cat((spread, hit, torch.zeros_like(hit)), dim=2))
        return torch.relu(aimed[:, :, None] + self.variant).flatten(2, 4)

    def switch_hidden(self, own: Tensor, bench: Tensor, context: Tensor) -> Tensor:
        """One vector for each Pokemon to switch to, and for passing where two slots choose [B, 6 or 7, H]."""
        into = self.switch_in(torch.cat((own, bench), dim=1))
        if self.joint:
            into = torch.cat((into, self.stay.expand(len(into), -1, -1)), dim=1)
        return torch.relu(into + self.switch_context(context)[:, None])

    def preview_scores(self, team: Tensor) -> Tensor:
        scores: Tensor = self.preview_out(team)  # [B, 6, lead or rest]
        leads, rest = self.picks[:, : self.slots].long(), self.picks[:, self.slots :].long()
        return scores[:, leads, 0].sum(2) + scores[:, rest, 1].sum(2)


class Names(nn.Module):
    """A vector for every move, species, item, ability and type in one table: one look-up sums a Pokemon's names."""

    move_features: Tensor
    species_features: Tensor

    def __init__(self, spec: GameSpec, width: int) -> None:
        super().__init__()
        tables = spec.tables
        self.register_buffer("move_features", torch.from_numpy(tables["move"].copy()))
        self.register_buffer("species_features", torch.from_numpy(tables["species"].copy()))
        self.move = linear(tables["move"].shape[1], width)
        self.species = linear(tables["species"].shape[1], width)
        sizes = {
            "moves": len(tables["move"]),
            "species": len(tables["species"]),
            "item": len(tables["item"]),
            "ability": len(tables["ability"]),
            "types": len(tables["effectiveness"]),
        }
        self.first, total = {}, 0  # the row of each kind's id 0
        for kind, size in sizes.items():
            self.first[kind] = total
            total += size
        self.described = self.first["item"]  # the rows before this have features besides their id
        self.own = nn.Parameter(torch.randn(total, width) * 0.05)
        self.frozen: Tensor | None = None

    def table(self) -> Tensor:
        """[names, D]"""
        if self.frozen is not None and not torch.is_grad_enabled():
            return self.frozen
        described, by_id = torch.split(self.own, [self.described, len(self.own) - self.described])
        features = torch.cat((self.move(self.move_features), self.species(self.species_features)))
        return torch.cat((torch.relu(features + described), by_id))

    def moves(self, table: Tensor) -> Tensor:
        return table[: self.first["species"]]

    def look_up(self, obs: Mapping[str, Tensor], table: Tensor) -> Tensor:
        """The sum of what each Pokemon's names mean [B, 12, D]."""
        single = torch.stack([obs[kind].long() + self.first[kind] for kind in ("species", "item", "ability")], dim=2)
        ids = torch.cat((obs["moves"].long(), single, obs["types"].long() + self.first["types"]), dim=2)
        return embedding_bag(ids.flatten(0, 1), table, mode="sum").reshape(*ids.shape[:2], -1)

    def freeze(self) -> None:
        self.frozen = None
        with torch.no_grad():
            self.frozen = self.table()
