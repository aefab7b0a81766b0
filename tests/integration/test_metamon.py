"""Trajectory files for metamon, made from matches on the real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ludus.api import datasets
from ludus.api.generating import generate
from ludus.data.dataset import Dataset
from ludus.games.showdown.install import Installation

frame = pytest.importorskip("lz4.frame")

# the fields of metamon's dataclasses, with the types that their __post_init__ checks
MOVE: dict[str, type] = {"name": str, "move_type": str, "category": str, "base_power": int}
MOVE |= {"accuracy": float, "priority": int, "current_pp": int, "max_pp": int}
POKEMON: dict[str, type] = {"name": str, "hp_pct": float, "types": str, "item": str, "ability": str, "lvl": int}
POKEMON |= {"status": str, "effect": str, "tera_type": str, "base_species": str}
POKEMON |= {f"{stat}_boost": int for stat in ("atk", "spa", "def", "spd", "spe", "accuracy", "evasion")}
POKEMON |= {f"base_{stat}": int for stat in ("atk", "spa", "def", "spd", "spe", "hp")}
STATE: dict[str, type] = {"format": str, "opponents_remaining": int, "weather": str, "battle_field": str}
STATE |= {"player_conditions": str, "opponent_conditions": str}
STATE |= dict.fromkeys(("forced_switch", "battle_won", "battle_lost", "can_tera"), bool)
PARTS = {"player_active_pokemon", "opponent_active_pokemon", "available_switches", "player_prev_move"}
PARTS |= {"opponent_prev_move", "opponent_teampreview"}


def check(values: dict[str, Any], fields: dict[str, type], others: set[str]) -> None:
    assert values.keys() == fields.keys() | others
    for name, kind in fields.items():
        assert type(values[name]) is kind, (name, values[name])


def check_pokemon(pokemon: dict[str, Any]) -> None:
    check(pokemon, POKEMON, {"moves"})
    for move in pokemon["moves"]:
        check(move, MOVE, set())


@pytest.mark.parametrize("battle_format", ["gen1randombattle", "gen9randombattle"])
def test_states_and_actions_are_those_that_metamon_reads(
    showdown: Installation, tmp_path: Path, battle_format: str
) -> None:
    data, options = tmp_path / "data", {"format": battle_format}
    policies = ("scripted:heuristic", "scripted:max_damage")
    generate(*policies, matches=4, out=data, game="showdown", options=options, workers=1)
    assert datasets.render(data, workers=1)
    decisions = datasets.export(data, "metamon", tmp_path / "out")
    assert decisions == Dataset.open(data).manifest.decisions
    paths = sorted((tmp_path / "out" / battle_format).iterdir())
    assert len(paths) == 8
    moves = switches = 0
    for path in paths:
        battle, rating, player, versus, opponent, date, result = path.name.removesuffix(".json.lz4").split("_")
        assert battle.startswith(f"metamon-{battle_format}-")
        assert (rating, versus, len(date)) == ("Unrated", "vs", len("11-18-2026-21:28:27"))
        assert {player, opponent} == {"scripted-heuristic", "scripted-max-damage"}
        content = json.loads(frame.decompress(path.read_bytes()))
        states, actions = content["states"], content["actions"]
        assert len(states) == len(actions)
        assert actions[-1] == -1
        assert states[-1]["battle_won"] == (result == "WIN")
        for state, following, action in zip(states, states[1:], actions, strict=False):
            check(state, STATE, PARTS)
            check_pokemon(state["player_active_pokemon"])
            check_pokemon(state["opponent_active_pokemon"])
            for pokemon in state["available_switches"]:
                check_pokemon(pokemon)
            order = sorted(pokemon["name"] for pokemon in state["available_switches"])
            assert -1 <= action < 13
            if 4 <= action < 9 and not following["forced_switch"]:  # who came in is active, unless it fainted at once
                switches += following["player_active_pokemon"]["name"] == order[action - 4]
            elif 0 <= action < 4:
                assert not state["forced_switch"]
                assert action < len(state["player_active_pokemon"]["moves"])
                moves += 1
    assert moves > 20
    assert switches > 5
