"""Hand-made positions of Pokemon battles, for tests of scripted policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ludus.games.showdown.scripted import POLICIES
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

TYPES = ("Normal", "Fire", "Water", "Grass", "Ground", "Flying")
STATS = ("hp", "atk", "def", "spa", "spd", "spe")
POKEMON = ("hp", "maxhp", "alive", "present", "active", "level", "brn", "atk", "def", "spa", "spd", "spe")
HAZARDS = ("spikes", "toxicspikes", "stealthrock", "stickyweb")
FIELD = (*(f"own_{name}" for name in HAZARDS), *(f"foe_{name}" for name in HAZARDS), "own_alive", "foe_alive")
MOVE_COLUMNS = (
    "base_power",
    "accuracy",
    "status",
    "physical",
    "special",
    *(f"type_{name.lower()}" for name in TYPES),
    "target_self",
    "target_foe",
    "target_spread",
    *(f"boosts_self_{stat}" for stat in STATS[1:]),
    "hits",
)
SPECIES = {  # base stats, types
    "charizard": ((78, 84, 78, 109, 85, 100), (2, 6)),
    "blastoise": ((79, 83, 100, 85, 105, 78), (3, 0)),
    "venusaur": ((80, 82, 83, 100, 100, 80), (4, 0)),
    "sandslash": ((75, 100, 110, 45, 55, 65), (5, 0)),
    "snorlax": ((160, 110, 65, 65, 110, 30), (1, 0)),
}
MOVES: Mapping[str, Mapping[str, float]] = {
    "unknown": {},
    "flamethrower": {"base_power": 90, "special": 1, "type_fire": 1, "target_foe": 1},
    "hydropump": {"base_power": 110, "accuracy": 0.8, "special": 1, "type_water": 1, "target_foe": 1},
    "surf": {"base_power": 90, "special": 1, "type_water": 1, "target_spread": 1},
    "bodyslam": {"base_power": 85, "physical": 1, "type_normal": 1, "target_foe": 1},
    "earthquake": {"base_power": 100, "physical": 1, "type_ground": 1, "target_spread": 1},
    "razorleaf": {"base_power": 55, "physical": 1, "type_grass": 1, "target_foe": 1},
    "swordsdance": {"status": 1, "target_self": 1, "boosts_self_atk": 1},
    "stealthrock": {"status": 1},
    "rapidspin": {"base_power": 20, "physical": 1, "type_normal": 1, "target_foe": 1},
    "seismictoss": {"physical": 1, "type_normal": 1, "target_foe": 1},
    "doublekick": {"base_power": 50, "physical": 1, "type_normal": 1, "target_foe": 1, "hits": 2},
    "growl": {"status": 1},
}
SPECIES_IDS = {name: row for row, name in enumerate(SPECIES, 1)}
MOVE_IDS = {name: row for row, name in enumerate(MOVES)}


def make_spec(
    slots: int = 1, variants: tuple[str, ...] = ("plain",), *, preview: NDArray[np.float32] | None = None
) -> GameSpec:
    """A format with a handful of species and moves."""
    targets = 1 if slots == 1 else 5
    slot_actions = len(variants) * targets * 4 + 6 + (slots > 1)
    chart = np.ones((len(TYPES) + 1, len(TYPES) + 1), np.float32)
    for attack, defend, factor in (
        (2, 4, 2),
        (2, 3, 0.5),
        (3, 2, 2),
        (3, 4, 0.5),
        (4, 3, 2),
        (4, 2, 0.5),
        (5, 6, 0),
        (3, 5, 2),
    ):
        chart[attack, defend] = factor
    species = np.zeros((len(SPECIES) + 1, 6), np.float32)
    species[1:] = np.array([base for base, _ in SPECIES.values()]) / 200
    moves = np.zeros((len(MOVES), len(MOVE_COLUMNS)), np.float32)
    scales = {"base_power": 1 / 150, "hits": 1 / 5}
    for row, facts in enumerate(MOVES.values()):
        for column, value in ({"accuracy": 1, "hits": 1} | dict(facts) if row else {}).items():
            moves[row, MOVE_COLUMNS.index(column)] = value * scales.get(column, 1)
    tables = {"species": species, "move": moves, "effectiveness": chart}
    if preview is not None:
        tables["preview"] = preview
    obs = ObsSpec.pack(
        {
            "species": ("uint16", (12,)),
            "types": ("uint8", (12, 3)),
            "moves": ("uint16", (12, 4)),
            "pokemon": ("float32", (12, len(POKEMON))),
            "boosts": ("int8", (2 * slots, 7)),
            "field": ("float32", (len(FIELD),)),
        }
    )
    layout = {
        "slots": slots,
        "variants": list(variants),
        "targets": targets,
        "slot_actions": slot_actions,
        "types": list(TYPES),
        "pokemon": list(POKEMON),
        "field": list(FIELD),
        "move_names": list(MOVES),
        "columns": {"species": [f"base_{stat}" for stat in STATS], "move": list(MOVE_COLUMNS)},
    }
    actions = slot_actions**slots + (0 if preview is None else len(preview))
    return GameSpec("test", 2, actions, obs, 1, layout, tables)


class Position:
    """One row, written leaf by leaf."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.slots = int(cast(int, spec.layout["slots"]))
        self.row = np.zeros((1, spec.obs.nbytes), np.uint8)
        self.leaves = cast(dict[str, NDArray[Any]], spec.obs.view(self.row))  # Any: dtypes are the spec's
        self.legal = np.zeros((1, spec.actions), np.bool_)
        self.field(own_alive=1.0, foe_alive=1.0)

    def put(
        self,
        place: int,
        species: str,
        *moves: str,
        hp: float = 1.0,
        active: bool = True,
        tera: int = 0,
        level: float = 1.0,
    ) -> Position:
        base, types = SPECIES[species]
        self.leaves["species"][0, place] = SPECIES_IDS[species]
        self.leaves["types"][0, place] = (*types, tera)
        self.leaves["moves"][0, place, : len(moves)] = [MOVE_IDS[move] for move in moves]
        stats = [(2 * stat + 36) / 500 for stat in base[1:]]
        self.leaves["pokemon"][0, place] = (hp, (2 * base[0] + 141) / 500, hp > 0, 1, active, level, 0, *stats)
        return self

    def field(self, **values: float) -> Position:
        for name, value in values.items():
            self.leaves["field"][0, FIELD.index(name)] = value
        return self

    def boost(self, place: int, stat: str, stages: int) -> Position:
        self.leaves["boosts"][0, place, STATS.index(stat) - 1] = stages
        return self

    def allow(self, *actions: int) -> Position:
        self.legal[0, list(actions)] = True
        return self

    def arrivals(self, copies: int = 1) -> Arrivals:
        return Arrivals(
            np.arange(copies, dtype=np.int32),
            np.arange(copies, dtype=np.int64),
            np.repeat(self.row, copies, axis=0),
            np.repeat(self.legal, copies, axis=0),
            np.zeros(copies, np.float32),
            np.zeros(copies, np.bool_),
        )

    def choice(self, policy: str, seed: int = 0) -> int:
        return int(POLICIES[policy](self.spec, seed).act(self.arrivals()).action[0])
