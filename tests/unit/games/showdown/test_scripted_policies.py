"""Scripted policies in singles, on hand-made observations whose best choice is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.showdown_positions import FIELD, Position, make_spec

from ludus.errors import HostError
from ludus.games.showdown.scripted import POLICIES
from ludus.spec import GameSpec

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


def test_team_preview_leads_with_what_stands_best_against_the_foes_team() -> None:
    position = Position(make_spec()).put(0, "sandslash", active=False).put(1, "venusaur", active=False)
    position.put(2, "charizard", active=False)
    for place in range(6, 12):
        position.put(place, "blastoise", active=False)
    assert position.allow(SWITCH, SWITCH + 1, SWITCH + 2).choice("heuristic") == SWITCH + 1


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
