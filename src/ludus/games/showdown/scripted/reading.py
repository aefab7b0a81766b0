"""Reads observations for scripted policies: leaves by the names of their columns, and the tables that ids index.

Axes: n rows, P = 12 Pokemon (6 own in the order of the request, then 6 of the foe, actives first), S slots a side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostError
from ludus.games.showdown.scripted.actions import TEAM, Bools, Floats, Ints
from ludus.spec import GameSpec
from ludus.types import Arrivals

LEAVES = ("species", "types", "moves", "pokemon", "boosts", "field")
STATS = ("atk", "def", "spa", "spd", "spe")
ATK, DEF, SPA, SPD, SPE = range(5)  # on the last axis of stats and boosts
HAZARDS = ("spikes", "toxicspikes", "stealthrock", "stickyweb")  # moves and conditions; each generation has some
CLEARING = ("rapidspin", "defog")
RISING, RISING_HITS = ("triplekick", "tripleaxel"), 1 + 2 * 0.9 + 3 * 0.81  # each hit is stronger, and may miss
FIXED_DAMAGE = {"sonicboom": 20.0, "dragonrage": 40.0}
LEVEL_DAMAGE = ("seismictoss", "nightshade")


class Moves:
    """Facts of every move, by id; id 0 is a move nobody knows and has no power."""

    def __init__(self, spec: GameSpec, hazards: Sequence[str]) -> None:
        table = spec.tables["move"]
        columns = MoveColumns(spec, "move", table=True)
        names = np.array(cast(Sequence[str], spec.layout.get("move_names", ())))
        if len(names) != len(table):
            raise HostError(f"{spec.name}: {len(table)} moves but {len(names)} in its layout's move_names")
        kinds = cast(Sequence[str], spec.layout.get("types", ()))
        types = table[:, columns.of(f"type_{kind.lower()}" for kind in kinds)]

        def is_named(*move_names: str) -> Bools:
            return np.isin(names, move_names)

        self.power: Floats = np.round(table[:, columns["base_power"]] * 150)
        self.accuracy: Floats = table[:, columns["accuracy"]]
        self.hits: Floats = np.round(table[:, columns["hits"]] * 5)
        self.hits[is_named(*RISING)] = RISING_HITS
        self.physical: Bools = table[:, columns["physical"]] > 0
        self.type: Ints = np.where(types.any(1), types.argmax(1) + 1, 0)
        self.spread: Bools = table[:, columns["target_spread"]] > 0
        self.single_target: Bools = table[:, columns["target_foe"]] > 0
        self.clears: Bools = is_named(*CLEARING)
        lays = [is_named(name) for name in hazards]
        self.lays: Bools = np.array(lays, np.bool_).reshape(-1, len(table)).T  # [moves, H]
        gains = table[:, columns.of(f"boosts_self_{stat}" for stat in STATS)] * 2
        status = (table[:, columns["status"]] > 0) & (table[:, columns["target_self"]] > 0)
        self.gains: Bools = gains > 0  # [moves, stats]
        self.sets_up: Bools = status & (gains.sum(1) >= 2)
        self.plain_value: Floats = np.round(self.power * self.accuracy * self.hits, 2)  # equals must stay equal
        self.fixed: Floats = np.zeros(len(table), np.float32)  # HP, whatever the stats
        for name, damage in FIXED_DAMAGE.items():
            self.fixed[is_named(name)] = damage
        self.level_damage: Bools = is_named(*LEVEL_DAMAGE)


class Types:
    """Effectiveness by pairs of types, so that one look-up answers for a whole Pokemon."""

    def __init__(self, spec: GameSpec) -> None:
        chart = spec.tables["effectiveness"]
        self.count = len(chart)
        pairs = (chart[:, :, None] * chart[:, None, :]).reshape(self.count, -1)
        self.on: Floats = pairs  # [attacking type, pair]
        first, second = np.divmod(np.arange(self.count**2), self.count)
        self.best: Floats = np.maximum(  # [attacking pair, pair]: a Pokemon's better type on another Pokemon
            np.where((first > 0)[:, None], pairs[first], 0), np.where((second > 0)[:, None], pairs[second], 0)
        )
        self.best[0] = 1.0

    def pair(self, types: NDArray[np.uint8]) -> Ints:
        """The pair that types [..., 2 or more] make."""
        return types[..., 0].astype(np.intp) * self.count + types[..., 1]


@dataclass(frozen=True, slots=True)
class BattleScene:
    """A batch of observations by what they mean."""

    pair: Ints  # [n, P] current types, as a pair
    tera: Ints  # [n, S] the pair that each own active would become
    types: NDArray[np.uint8]  # [n, P, 3]
    moves: NDArray[np.uint16]  # [n, P, 4]
    hp: Floats  # [n, P] share of the full HP
    maxhp: Floats  # [n, P] the foe's estimated
    alive: Bools  # [n, P]
    active: Bools  # [n, P]
    level: Floats  # [n, P]
    burned: Bools  # [n, P]
    stats: Floats  # [n, P, 5] own as they are, the foe's estimated
    base: Floats  # [n, P, 5] base stats
    boosts: NDArray[np.int8]  # [n, 2S, 7]
    own_hazards: Bools  # [n, H] on the own side, those that the generation has
    foe_hazards: Bools  # [n, H]
    own_left: Floats  # [n] own Pokemon that have not fainted
    foe_left: Floats  # [n]


class Reader:
    """Takes arrivals apart. Raises HostError when the host's spec lacks something."""

    def __init__(self, spec: GameSpec) -> None:
        have = {leaf.name: leaf for leaf in spec.obs.leaves}
        for name in LEAVES:
            if name not in have:
                raise HostError(f"{spec.name}: its observations have no leaf {name!r}, which scripted policies read")
        self._obs = spec.obs
        self.slots = have["boosts"].shape[0] // 2
        self.types = Types(spec)
        pokemon, field = MoveColumns(spec, "pokemon"), MoveColumns(spec, "field")
        self._hp, self._maxhp, self._alive, self._active, self._level, self._burned = (
            pokemon[name] for name in ("hp", "maxhp", "alive", "active", "level", "brn")
        )
        self._stats = pokemon.of(STATS)
        self.hazards = [name for name in HAZARDS if f"own_{name}" in field]
        self._own_hazards = field.of(f"own_{name}" for name in self.hazards)
        self._foe_hazards = field.of(f"foe_{name}" for name in self.hazards)
        self._own_left, self._foe_left = field["own_alive"], field["foe_alive"]
        columns = MoveColumns(spec, "species", table=True)
        self._base = spec.tables["species"][:, columns.of(f"base_{stat}" for stat in STATS)] * 200

    def read(self, arrivals: Arrivals) -> BattleScene:
        leaves: dict[str, NDArray[Any]] = {
            name: self._obs.leaf(arrivals.obs, name) for name in LEAVES
        }  # Any: the spec's
        types = leaves["types"]
        pokemon, field = (self._obs.reals(arrivals.obs, name) for name in ("pokemon", "field"))
        return BattleScene(
            pair=self.types.pair(types),
            tera=types[:, : self.slots, 2].astype(np.intp) * self.types.count,
            types=types,
            moves=leaves["moves"],
            hp=pokemon[:, :, self._hp],
            maxhp=np.rint(pokemon[:, :, self._maxhp] * 500),
            alive=pokemon[:, :, self._alive] > 0,
            active=pokemon[:, :, self._active] > 0,
            level=np.rint(pokemon[:, :, self._level] * 100),
            burned=pokemon[:, :, self._burned] > 0,
            stats=np.rint(pokemon[:, :, self._stats] * 500),
            base=self._base[leaves["species"]],
            boosts=leaves["boosts"],
            own_hazards=field[:, self._own_hazards] > 0,
            foe_hazards=field[:, self._foe_hazards] > 0,
            own_left=np.rint(field[:, self._own_left] * TEAM),
            foe_left=np.rint(field[:, self._foe_left] * TEAM),
        )


class MoveColumns:
    """Places of named columns in a leaf, or in a table."""

    def __init__(self, spec: GameSpec, name: str, *, table: bool = False) -> None:
        layout = cast(Mapping[str, object], spec.layout.get("columns", {})) if table else spec.layout
        names = cast(Sequence[str], layout.get(name, ()))
        self._where = f"{spec.name}: its {'table' if table else 'leaf'} {name!r}"
        self._places = {column: place for place, column in enumerate(names)}

    def __getitem__(self, column: str) -> int:
        try:
            return self._places[column]
        except KeyError:
            raise HostError(f"{self._where} has no column {column!r}, which scripted policies read") from None

    def __contains__(self, column: str) -> bool:
        return column in self._places

    def of(self, columns: Iterable[str]) -> list[int]:
        return [self[column] for column in columns]
