"""The net `pointer` of Showdown: shared encoders for Pokemon and moves. Each action is scored from the vectors of the
Pokemon and move that it uses and from the context of the battle.

Axes: B rows, 6 Pokemon per side, S active slots per side, V variants, T targets, D width, H = D/2, C context.

The constant properties of moves and species are encoded once per forward pass for the whole table, then looked up by
id: a batch of 500 rows contains 24,000 moves, the table only 165 to 950.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import embedding, relu

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.games.showdown.net.chooser import PointerChooser
from ludus.games.showdown.net.columns import MOVES, OPTIONAL, SIDE, FeatureColumns
from ludus.games.showdown.net.dense_ways import DenseWays
from ludus.games.showdown.net.encoding import encode, precision_on
from ludus.games.showdown.net.ways import Ways
from ludus.policies.distributions import Categorical, Distribution, Pairs
from ludus.policies.nets.layers import linear, stacked
from ludus.policies.nets.net import Net
from ludus.policies.nets.reals import reals
from ludus.policies.nets.recurrence import Recall, build_core, recalled
from ludus.policies.nets.values import build_bins
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.policies.cpu.chooser import Chooser

UNTOLD = 2  # a table with only the rows "unknown" and "none", such as the items of gen 1, is not read
PAIRING = 8  # rank of the bilinear score of a pair of actions in doubles
LEAVES = (
    "species",
    "ability",
    "item",
    "types",
    "moves",
    "pokemon",
    "move_state",
    "boosts",
    "volatiles",
    "field",
)
MEASURES = ("pokemon", "move_state", "field", "matchup", "threat", "duel", *OPTIONAL)


class Encoded(NamedTuple):
    """The vectors of B rows that actions are scored from."""

    own: Tensor  # [B, 6, D] the own Pokemon
    active: Tensor  # [B, S * D] the own active Pokemon
    facing: Tensor  # [B, S * D] the foe's active Pokemon
    context: Tensor  # [B, C] the whole state
    moves: Tensor | None  # [B, S, 4, H] what the moves of the active Pokemon have attended to; None without attention


class PointerNet(Net):
    """Scores every move and switch of Showdown's singles (S = 1) or doubles (S = 2, `joint`). Raises ConfigError if the
    game does not have the leaves of Showdown's observations."""

    # these layers are computed where autocast is off
    exact: ClassVar[tuple[str, ...]] = (
        "pokemon_in",
        "pokemon_out",
        "move_out",
        "switch_out",
        "pair_left",
        "pair_right",
        "move_hit",
    )

    def __init__(self, spec: GameSpec, config: PolicyConfig) -> None:
        super().__init__()
        leaves = {leaf.name: leaf for leaf in spec.obs.leaves}
        shapes = {name: leaf.shape for name, leaf in leaves.items()}
        missing = [name for name in LEAVES if name not in shapes]
        if missing:
            raise ConfigError(
                f"policy.net: pointer needs the leaves {', '.join(missing)}, which {spec.name} does not have"
            )
        counted = [name for name in MEASURES if name in leaves and not leaves[name].is_real]
        if counted:
            raise ConfigError(f"policy.net: pointer needs real numbers in {', '.join(counted)}, not integers")
        D, H, C = config.width, config.width // 2, config.context
        self.width, self.hidden = D, H
        self.slots = S = shapes["boosts"][0] // 2
        self.full = "matchup" in shapes
        self.targets, self.variants = (
            int(cast(int, spec.layout["targets"])),
            len(cast(list[str], spec.layout["variants"])),
        )
        self.names = Names(spec, D, H)

        self.columns = FeatureColumns(leaves)
        self.pokemon_in = linear(self.columns.own.shape[1] + self.columns.foe_active.shape[1], D, bias=False)
        self.pokemon_out = linear(D, D)
        self.build_context(config, shapes["field"][0])
        self.heads = stacked(C, (H, H, D))  # for moves, for switches, for the value
        self.value_out = linear(D, config.value.bins, gain=0.1)
        self.bins = build_bins(config.value)

        self.move_state = linear(self.columns.state.shape[2], H, bias=False)
        self.move_actor = linear(D, H, bias=False)
        self.move_target = linear(D, H, bias=False)
        self.variant = nn.Parameter(torch.randn(self.variants, H) * 0.1)
        self.move_out = linear(H, 1, gain=0.01)

        self.switch_in = linear(D, H, bias=False)
        self.switch_out = linear(H, 1, gain=0.01)

        self.joint = S > 1
        if self.joint:
            self.move_hit = linear(shapes["matchup"][-1], H, bias=False) if self.full else None
            self.no_target = nn.Parameter(torch.zeros(1, 1, H))
            self.stay = nn.Parameter(torch.zeros(1, 1, H))
            self.pair_left = linear(H, PAIRING, gain=0.1)
            self.pair_right = linear(H, PAIRING, gain=0.1)
        self.picks: Tensor
        preview = spec.tables.get("preview")
        self.register_buffer("picks", torch.zeros(0, 1) if preview is None else torch.from_numpy(preview.copy()))
        if preview is not None:
            self.preview_out = linear(D, 2, gain=0.01)  # as one of the leads, as one of the rest
        self.core = build_core(config.recurrent, C)

    def build_context(self, config: PolicyConfig, field: int) -> None:
        """Create the layers between the vectors of the Pokemon and the context. `field` is the number of columns of the
        leaf `field`."""
        self.context_in = linear(2 * (self.slots + 2) * self.width + field, config.context)
        self.context_out = linear(config.context, config.context)

    def prepare(self, obs: Mapping[str, Tensor], legal: Tensor) -> dict[str, Tensor]:
        """Return the inputs, each with B as first axis: `names` [B, 12, names], the features of `FeatureColumns`,
        `field` and, in doubles, the mask `may` [B, k] of first choices and `hit`, the effect of each move on each
        target [B, S * T * 4 + 1, columns]."""
        features = {**self.columns(obs), "field": reals(obs["field"])}
        dtype = precision_on(legal.device.type)
        inputs = {"names": self.names.ids(obs), **{name: feature.to(dtype) for name, feature in features.items()}}
        if self.joint:
            inputs["may"] = Pairs.first_choices(legal, self.slot_actions)
        if self.joint and self.full:
            hit = reals(obs["matchup"][:, : self.slots]).transpose(2, 3)  # [B, S, foe slots, 4, columns]
            spread = hit.mean(2, keepdim=True)  # a move without a chosen target may hit both foes
            struck = torch.cat((spread, hit, torch.zeros_like(hit)), dim=2).flatten(1, 3)  # [B, S * T * 4, columns]
            inputs["hit"] = functional.pad(struck, (0, 0, 0, 1))  # the last row is for choices that hit nobody
        return inputs

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Distribution, Tensor]:
        S, D, H = self.slots, self.width, self.hidden
        names, moves = self.names.tables()
        ids = inputs["names"]
        own, active, facing, encoded_context, attended = self.encode(inputs, names)
        context = recalled(self.core, encoded_context, recall)
        user, switch, worth = torch.split(self.heads(context), [H, H, D], dim=1)
        value = self.value_out(relu(worth)).squeeze(1)

        move_vectors = embedding(ids[:, :S, :MOVES], moves)
        state = inputs["state"].to(move_vectors.dtype)
        move = torch.addmm(move_vectors.flatten(0, 2), state.flatten(0, 2), self.move_state.weight.t())  # [B*S*4, H]
        if attended is not None:
            move = move + attended.flatten(0, 2)
        into = self.switch_in(own)
        if self.joint:
            into = torch.cat((into, self.stay.expand(len(into), -1, -1)), dim=1)
        switches = into.add_(switch[:, None])  # [B, 6 or 7, H]
        if self.joint:
            user = self.move_actor(active.reshape(-1, S, D)) + user[:, None]
            move = move.view(-1, S, MOVES, H) + user[:, :, None]
            kind = DenseWays if scores_all(legal.device) else Ways
            ways = kind(self, move, self.aims(active, facing), switches, inputs.get("hit"))
            first = ways.scores(inputs["may"])
        else:
            user = torch.addmm(user, active, self.move_actor.weight.t())
            user = torch.addmm(user, facing, self.move_target.weight.t())
            move = move.view(-1, 1, MOVES, H) + (user[:, None] + self.variant)[:, :, None]
            by_move = self.move_out(relu(move, inplace=True)).flatten(1)  # [B, V*4]
            first = torch.cat((by_move, self.switch_out(relu(switches, inplace=True)).squeeze(2)), dim=1)
        if len(self.picks):
            first = torch.cat((first, self.preview_scores(own)), dim=1)
        if not self.joint:
            return Categorical(first, legal), value
        return Pairs(first, ways.scores_given, legal, inputs["may"]), value

    def encode(self, inputs: Mapping[str, Tensor], names: Tensor) -> Encoded:
        """Return the vectors that actions are scored from. names: the embeddings of all names [names, D]."""
        own, sides = encode(names, inputs, self.columns, self.pokemon_in, self.pokemon_out)
        own_side, foe_side = torch.split(sides, len(own))
        hidden = relu(self.context_in(torch.cat((own_side, foe_side, inputs["field"]), dim=1)), inplace=True)
        active = self.slots * self.width
        context = relu(self.context_out(hidden), inplace=True)
        return Encoded(own, own_side[:, :active], foe_side[:, :active], context, None)

    @property
    def slot_actions(self) -> int:
        """The number k of choices of one slot: moves with variant and target, switches and, in doubles, passing."""
        return self.variants * self.targets * MOVES + SIDE + self.joint

    def freeze_tables(self) -> None:
        """Encode the tables of names once for all later forward passes without gradients. Call it again after every
        change of the weights."""
        self.names.freeze()

    def chooser(self, spec: GameSpec) -> Chooser | None:
        """Return the implementation for small batches on the CPU."""
        return PointerChooser(self, spec)

    def aims(self, active: Tensor, facing: Tensor) -> Tensor:
        """Return the vectors of all targets [B, T, H]: no target, the foe's slots, the own slots. `active` and `facing`
        [B, S * D] are the vectors of the own and the foe's active Pokemon."""
        both = torch.cat((facing, active), dim=1).view(len(active), -1, self.width)
        return torch.cat((self.no_target.expand(len(both), -1, -1), self.move_target(both)), dim=1)

    def preview_scores(self, team: Tensor) -> Tensor:
        """Return the logits [B, actions] of the team preview, given the vectors of the own Pokemon [B, 6, D]."""
        scores: Tensor = self.preview_out(team)  # [B, 6, lead or rest]
        leads, rest = self.picks[:, : self.slots].long(), self.picks[:, self.slots :].long()
        return scores[:, leads, 0].sum(2) + scores[:, rest, 1].sum(2)


def scores_all(device: torch.device) -> bool:
    """Return True if all choices of doubles are scored on this device, False if only the legal ones are."""
    return device.type == "cuda"


class Names(nn.Module):
    """One table of embeddings [names, D] for all moves, species, items, abilities, types, moves used last turn, and
    sides. A Pokemon's names are encoded as the sum of their embeddings. Moves and species also use their rows in the
    game's tables."""

    move_features: Tensor
    species_features: Tensor
    first: Tensor

    def __init__(self, spec: GameSpec, width: int, hidden: int) -> None:
        super().__init__()
        tables = spec.tables
        self.register_buffer("move_features", torch.from_numpy(tables["move"].copy()))
        self.register_buffer("species_features", torch.from_numpy(tables["species"].copy()))
        self.move = linear(tables["move"].shape[1], width)
        self.species = linear(tables["species"].shape[1], width)
        self.move_name = linear(width, hidden, bias=False)  # for a move as a choice
        self.moves = len(tables["move"])
        self.described = self.moves + len(tables["species"])  # rows before this one also use the game's tables
        item = self.described
        ability = item + len(tables["item"])
        types = ability + len(tables["ability"])
        last = ["last_move"] if any(leaf.name == "last_move" for leaf in spec.obs.leaves) else []
        last_move = types + len(tables["effectiveness"])
        own_side = last_move + (self.moves if last else 0)
        id_kinds = [kind for kind in ("item", "ability") if len(tables[kind]) > UNTOLD]
        # the leaves that hold a Pokemon's names, moves first
        self.kinds = ("moves", "species", *id_kinds, "types", *last)
        begins = {"moves": 0, "species": self.moves, "item": item, "ability": ability, "types": types}
        begins["last_move"] = last_move
        several = {"moves": MOVES, "types": 3}
        first = [begins[kind] for kind in self.kinds for _ in range(several.get(kind, 1))]  # each name's row of id 0
        sides = [[*first, own_side]] * SIDE + [[*first, own_side + 1]] * SIDE
        self.register_buffer("first", torch.tensor(sides, dtype=torch.int32), persistent=False)
        self.own = nn.Parameter(torch.randn(own_side + 2, width) * 0.05)
        self.frozen: tuple[Tensor, Tensor] | None = None

    def ids(self, obs: Mapping[str, Tensor]) -> Tensor:
        """Return the table rows of each Pokemon's names [B, 12, names]; the last is that of its side."""
        ids = torch.zeros(len(obs["moves"]), *self.first.shape, dtype=torch.int32, device=self.first.device)
        at = 0
        for kind in self.kinds:
            leaf = obs[kind].flatten(2) if obs[kind].dim() > 2 else obs[kind][:, :, None]
            ids[:, :, at : at + leaf.shape[2]] = leaf
            at += leaf.shape[2]
        return ids.add_(self.first)

    def tables(self) -> tuple[Tensor, Tensor]:
        """Return the embeddings of all names [names, D], and of the moves as choices [moves, H]."""
        if self.frozen is not None and not torch.is_grad_enabled():
            return self.frozen
        described, by_id = torch.split(self.own, [self.described, len(self.own) - self.described])
        features = torch.cat((self.move(self.move_features), self.species(self.species_features)))
        table = torch.cat((relu(features + described), by_id))
        return table, self.move_name(table[: self.moves])

    def freeze(self) -> None:
        """Compute `tables` once for later use without gradients. Overwrites the previous tensors, because captured CUDA
        graphs read them by address."""
        before, self.frozen = self.frozen, None
        with torch.no_grad():
            tables = self.tables()
            for old, new in zip(before or tables, tables, strict=True):
                old.copy_(new)
        self.frozen = before or tables
