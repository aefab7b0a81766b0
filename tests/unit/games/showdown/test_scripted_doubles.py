"""Scripted policies in doubles, on hand-made observations whose best choice is known."""

from __future__ import annotations

import numpy as np
from tests.showdown_positions import MOVE_IDS, Position, make_spec

from ludus.games.showdown.scripted import POLICIES

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
