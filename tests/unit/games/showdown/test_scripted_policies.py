"""Scripted policies on hand-made observations whose best choice is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.errors import HostError
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


SWITCH = 4  # the first switch in a singles format with plain moves only


def singles(own: str, *moves: str, foe: str, hp: float = 1.0) -> Position:
    """An own active with moves against a foe, and a Snorlax on the bench; everything is legal."""
    position = Position(make_spec()).put(0, own, *moves, hp=hp).put(1, "snorlax", "bodyslam", active=False).put(6, foe)
    return position.allow(*range(len(moves)), SWITCH + 1)


def test_random_takes_every_legal_action_about_equally_often_and_no_other() -> None:
    position = singles("charizard", "growl", "flamethrower", "bodyslam", foe="venusaur")
    action = POLICIES["random"](position.spec, 3).act(position.arrivals(4000)).action
    counts = np.bincount(action, minlength=10)
    assert set(np.flatnonzero(counts)) == {0, 1, 2, SWITCH + 1}
    assert counts[counts > 0].min() > 900


@pytest.mark.parametrize("policy", POLICIES)
def test_choices_depend_on_seed_match_and_observation_but_not_on_the_batch(policy: str) -> None:
    position = singles("charizard", "growl", "flamethrower", "bodyslam", foe="venusaur")
    whole = position.arrivals(64)
    acted = POLICIES[policy](position.spec, 5).act(whole).action
    part = np.array([40, 3, 17])
    assert np.array_equal(POLICIES[policy](position.spec, 5).act(whole.take(part)).action, acted[part])


@pytest.mark.parametrize("policy", POLICIES)
def test_an_empty_batch_gives_no_choices(policy: str) -> None:
    position = singles("charizard", "growl", foe="venusaur")
    assert len(POLICIES[policy](position.spec, 0).act(position.arrivals(0)).action) == 0


def test_max_power_prefers_power_to_effect() -> None:
    assert singles("blastoise", "bodyslam", "hydropump", "surf", foe="venusaur").choice("max_power") == 1


def test_max_power_takes_the_first_of_equal_moves_and_never_switches_freely() -> None:
    assert singles("blastoise", "growl", "stealthrock", foe="venusaur").choice("max_power") == 0


@pytest.mark.parametrize("policy", ["max_power", "max_damage"])
def test_forced_switches_are_spread_over_the_bench(policy: str) -> None:
    position = (
        Position(make_spec()).put(0, "charizard", hp=0.0).put(6, "venusaur").allow(SWITCH + 1, SWITCH + 2, SWITCH + 4)
    )
    action = POLICIES[policy](position.spec, 0).act(position.arrivals(300)).action
    assert set(action) == {SWITCH + 1, SWITCH + 2, SWITCH + 4}


def test_max_damage_counts_effectiveness_and_stab() -> None:
    assert singles("charizard", "hydropump", "flamethrower", "earthquake", foe="venusaur").choice("max_damage") == 1


def test_max_damage_counts_accuracy() -> None:
    assert singles("blastoise", "hydropump", "surf", foe="charizard").choice("max_damage") == 1


def test_max_damage_avoids_immunity() -> None:
    assert singles("sandslash", "earthquake", "razorleaf", foe="charizard").choice("max_damage") == 1


def test_max_damage_uses_the_boosts_of_both_sides() -> None:
    position = singles("snorlax", "bodyslam", "surf", foe="sandslash")
    assert position.choice("max_damage") == 1
    assert position.boost(0, "atk", 6).choice("max_damage") == 0
    assert position.boost(1, "def", 6).choice("max_damage") == 1


def test_max_damage_counts_the_number_of_hits() -> None:
    assert singles("snorlax", "bodyslam", "doublekick", foe="snorlax").choice("max_damage") == 1


def test_max_damage_knows_damage_that_depends_on_the_level_alone() -> None:
    assert singles("blastoise", "razorleaf", "seismictoss", foe="charizard").choice("max_damage") == 1


def test_heuristic_attacks_with_the_strongest_move_when_the_match_up_is_fair() -> None:
    assert singles("charizard", "bodyslam", "flamethrower", foe="venusaur", hp=0.9).choice("heuristic") == 1


def test_heuristic_lays_hazards_once_while_enough_foes_are_left() -> None:
    position = singles("snorlax", "bodyslam", "stealthrock", foe="snorlax", hp=0.9)
    assert position.choice("heuristic") == 1
    assert position.field(foe_stealthrock=1.0).choice("heuristic") == 0
    assert position.field(foe_stealthrock=0.0, foe_alive=2 / 6).choice("heuristic") == 0


def test_heuristic_clears_hazards_only_from_its_own_side() -> None:
    position = singles("snorlax", "bodyslam", "rapidspin", foe="snorlax", hp=0.9)
    assert position.choice("heuristic") == 0
    assert position.field(own_spikes=1 / 3).choice("heuristic") == 1
    assert position.field(own_alive=1 / 6).choice("heuristic") == 0


def test_heuristic_sets_up_when_healthy_and_ahead_until_the_stat_is_full() -> None:
    position = singles("charizard", "flamethrower", "swordsdance", foe="venusaur")
    assert position.choice("heuristic") == 1
    assert position.boost(0, "atk", 6).choice("heuristic") == 0
    assert singles("charizard", "flamethrower", "swordsdance", foe="venusaur", hp=0.99).choice("heuristic") == 0


def losing() -> Position:
    """Sandslash against a fresh Blastoise, with a Venusaur and a Snorlax on the bench."""
    position = Position(make_spec()).put(0, "sandslash", "earthquake", "bodyslam", hp=0.1).put(6, "blastoise")
    position.put(1, "snorlax", active=False).put(2, "venusaur", active=False)
    return position.allow(0, 1, SWITCH + 1, SWITCH + 2)


def test_heuristic_leaves_a_lost_match_up_only_below_its_threshold() -> None:
    assert losing().choice("heuristic") == 0  # 1 - 2 - 0.1 - 0.36 = -1.46
    position = losing().boost(0, "def", -3)
    assert position.choice("heuristic") == SWITCH + 2  # Venusaur stands best


def test_heuristic_stays_when_nobody_on_the_bench_stands_well() -> None:
    position = losing().boost(0, "def", -3)
    position.legal[0, SWITCH + 2] = False
    position.put(1, "snorlax", hp=0.2, active=False)
    assert position.choice("heuristic") == 0


def test_heuristic_leaves_for_a_dropped_attack_only_if_it_is_the_better_one() -> None:
    assert losing().boost(0, "atk", -3).choice("heuristic") == SWITCH + 2
    assert losing().boost(0, "spa", -3).choice("heuristic") == 0


def test_heuristic_sends_the_best_match_up_after_a_faint() -> None:
    position = Position(make_spec()).put(0, "charizard", hp=0.0).put(6, "blastoise")
    position.put(1, "sandslash", active=False).put(2, "venusaur", active=False).put(3, "snorlax", active=False)
    assert position.allow(SWITCH + 1, SWITCH + 2, SWITCH + 3).choice("heuristic") == SWITCH + 2


def test_heuristic_terastallizes_when_attack_and_defence_gain_by_it() -> None:
    spec = make_spec(variants=("plain", "tera"))
    water, fire = 3, 2

    def choice(tera: int, *legal: int) -> int:
        position = Position(spec).put(0, "sandslash", "bodyslam", hp=0.5, tera=tera).put(6, "blastoise")
        return position.allow(*legal).choice("heuristic")

    assert choice(4, 0, 4) == 4  # grass halves nothing here, but water is no longer twice as strong
    assert choice(fire, 0, 4) == 0
    assert choice(water, 0) == 0  # not offered


def test_heuristic_dynamaxes_when_healthy_and_ahead_or_last() -> None:
    spec = make_spec(variants=("plain", "dynamax"))

    def choice(hp: float, own_left: float) -> int:
        position = Position(spec).put(0, "charizard", "flamethrower", hp=hp).put(1, "snorlax", active=False)
        return position.put(6, "venusaur").field(own_alive=own_left / 6).allow(0, 4).choice("heuristic")

    assert choice(1.0, 6) == 4
    assert choice(0.9, 6) == 0
    assert choice(0.9, 1) == 4


SLOT_ACTIONS = 27  # doubles with plain moves: 5 targets x 4 moves, 6 switches, pass
PASS = 26


def use(move: int, target: int) -> int:
    return target * 4 + move


def joint(first: int, second: int) -> int:
    return first * SLOT_ACTIONS + second


def doubles(**foes: float) -> Position:
    """Two Blastoises against two foes; moves may be aimed at each foe and at the ally, spread moves at nobody."""
    position = Position(make_spec(slots=2))
    for slot in range(2):
        position.put(slot, "blastoise", "surf", "bodyslam", "growl")
    for slot, (foe, hp) in enumerate(foes.items()):
        position.put(6 + slot, foe, hp=hp)
    uses = [use(0, 0), *(use(1, target) for target in (1, 2, 3)), use(2, 0)]
    return position.allow(*(joint(first, second) for first in uses for second in uses))


def test_doubles_spread_moves_count_for_both_foes() -> None:
    for policy in ("max_power", "max_damage", "heuristic"):
        assert doubles(sandslash=0.9, charizard=0.9).choice(policy) == joint(use(0, 0), use(0, 0))


def test_doubles_moves_are_aimed_where_they_do_most() -> None:
    position = doubles(venusaur=1.0, snorlax=1.0)
    position.leaves["moves"][0, :2] = [MOVE_IDS[name] for name in ("growl", "flamethrower", "growl", "growl")]
    for policy in ("max_damage", "heuristic"):
        assert position.choice(policy) == joint(use(1, 1), use(1, 1))


def test_doubles_leave_out_a_foe_that_has_fainted() -> None:
    position = doubles(venusaur=0.0, snorlax=1.0)
    position.leaves["moves"][0, :2] = [MOVE_IDS[name] for name in ("growl", "flamethrower", "growl", "growl")]
    for policy in ("max_power", "max_damage", "heuristic"):
        assert position.choice(policy) == joint(use(1, 2), use(1, 2))


def test_doubles_slots_that_want_the_same_switch_take_different_ones() -> None:
    position = Position(make_spec(slots=2)).put(0, "charizard", hp=0.0).put(1, "charizard", hp=0.0)
    position.put(2, "venusaur", active=False).put(3, "snorlax", active=False).put(6, "blastoise").put(7, "sandslash")
    to_venusaur, to_snorlax = 20 + 2, 20 + 3
    position.allow(joint(to_venusaur, to_snorlax), joint(to_snorlax, to_venusaur))
    for policy in POLICIES:
        assert position.choice(policy) in (joint(to_venusaur, to_snorlax), joint(to_snorlax, to_venusaur))


def test_doubles_last_pokemon_comes_in_and_the_other_slot_passes() -> None:
    position = Position(make_spec(slots=2)).put(0, "charizard", hp=0.0).put(1, "charizard", hp=0.0)
    position.put(2, "venusaur", active=False).put(6, "blastoise").put(7, "sandslash")
    position.allow(joint(22, PASS), joint(PASS, 22))
    for policy in POLICIES:
        assert position.choice(policy) in (joint(22, PASS), joint(PASS, 22))


def test_team_preview_leads_with_what_stands_best_against_the_foes_team() -> None:
    position = Position(make_spec()).put(0, "sandslash", active=False).put(1, "venusaur", active=False)
    position.put(2, "charizard", active=False)
    for place in range(6, 12):
        position.put(place, "blastoise", active=False)
    assert position.allow(SWITCH, SWITCH + 1, SWITCH + 2).choice("heuristic") == SWITCH + 1


def test_team_preview_picks_come_from_the_table_of_picks() -> None:
    picks = np.array([[0, 1, 2], [1, 3, 0], [2, 3, 1]], np.float32)
    position = Position(make_spec(slots=2, preview=picks))
    for place, species in enumerate(("sandslash", "venusaur", "charizard", "venusaur")):
        position.put(place, species, active=False)
    for place in range(6, 12):
        position.put(place, "blastoise", active=False)
    position.allow(*(SLOT_ACTIONS**2 + pick for pick in range(3)))
    assert position.choice("heuristic") == SLOT_ACTIONS**2 + 1
    for policy in POLICIES:
        assert SLOT_ACTIONS**2 <= position.choice(policy) < SLOT_ACTIONS**2 + 3


def test_a_generation_without_hazards_is_played_too() -> None:
    spec = make_spec()
    layout = dict(spec.layout) | {"field": [*(f"other_{name}" for name in FIELD[:8]), *FIELD[8:]]}
    position = Position(GameSpec(spec.name, 2, spec.actions, spec.obs, 1, layout, spec.tables))
    position.put(0, "snorlax", "stealthrock", "rapidspin", "bodyslam").put(6, "snorlax").allow(0, 1, 2)
    assert position.choice("heuristic") == 2


def test_a_missing_column_is_named() -> None:
    spec = make_spec()
    layout = dict(spec.layout) | {"field": [name for name in FIELD if name != "foe_alive"]}
    poorer = GameSpec(spec.name, 2, spec.actions, spec.obs, 1, layout, spec.tables)
    with pytest.raises(HostError, match="leaf 'field' has no column 'foe_alive'"):
        POLICIES["heuristic"](poorer, 0)
