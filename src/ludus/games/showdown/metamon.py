"""Exports singles to the trajectory files of metamon: one `.json.lz4` file per seat of a match.

A state has the fields of metamon's UniversalState, filled with what the seat's observation shows. Actions are 0 to 3
for moves and 4 to 8 for switches, both in alphabetical order, 9 to 12 for moves with terastallization, and -1 for
choices that metamon cannot express. After the last decision the state is repeated with the result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ludus import files
from ludus.errors import ConfigError, SetupError
from ludus.games.showdown.scripted.actions import MOVES, TEAM, ActionMap
from ludus.games.showdown.scripted.reading import STATS, MoveColumns
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.data.exporting import Trajectory

MISSING = -1
TERA = 9  # first action of moves with terastallization
SWITCH = 4  # first action of switches
STATUSES = ("brn", "par", "slp", "frz", "psn", "tox")
SIDES = ("spikes", "toxicspikes", "stealthrock", "stickyweb", "reflect", "lightscreen", "auroraveil", "tailwind")
NO_MOVE = {
    "name": "nomove",
    "move_type": "nomove",
    "category": "nomove",
    "base_power": 0,
    "accuracy": 1.0,
    "priority": 0,
    "current_pp": 0,
    "max_pp": 0,
}
State = dict[str, Any]  # Any: JSON


def export(trajectories: Iterable[Trajectory], spec: GameSpec, options: Any, out: Path) -> None:
    """Write the files into `out`/FORMAT. Any: the game's options. Raises SetupError without lz4, ConfigError for
    doubles, and OSError if the disk is full."""
    try:
        frame = import_module("lz4.frame")
    except ImportError as error:
        raise SetupError("lz4 is not installed: pip install 'ludus-rl[metamon]'") from error
    if ActionMap(spec).slots != 1:
        raise ConfigError(f"--to metamon: {spec.name} is doubles, and metamon's files hold singles")
    reader = StateReader(spec, options.format)
    folder = out / options.format
    folder.mkdir(parents=True, exist_ok=True)
    for each in trajectories:
        if len(each.action):
            states, actions = reader.states(each)
            data = frame.compress(json.dumps({"states": states, "actions": actions}).encode())
            files.replace(folder / file_name(each, options.format), data)


def file_name(each: Trajectory, battle_format: str) -> str:
    """Return the name under which metamon finds a trajectory: format, rating, players, date and result."""
    rating = "Unrated" if math.isnan(each.rating) else f"{each.rating:.0f}"
    names = [_word(each.policy), _word(each.opponents[0] if each.opponents else "nobody")]
    date = datetime.fromtimestamp(each.ended_s, UTC).strftime("%m-%d-%Y-%H:%M:%S")
    result = "WIN" if each.score > 0.5 else "LOSS"
    battle = f"metamon-{battle_format}-{2 * each.match + each.seat:010d}"
    return f"{battle}_{rating}_{names[0]}_vs_{names[1]}_{date}_{result}.json.lz4"


class StateReader:
    """Turns the observations of one seat into states."""

    def __init__(self, spec: GameSpec, battle_format: str) -> None:
        layout = spec.layout
        self._spec, self._format, self._actions = spec, battle_format, ActionMap(spec)
        self._species, self._moves, self._items, self._abilities, self._types, self._volatiles = (
            cast(Sequence[str], layout.get(name, ()))
            for name in ("species_names", "move_names", "item_names", "ability_names", "types", "volatiles")
        )
        self._move_states = cast(Sequence[str], layout.get("move_state", ()))
        self._pokemon, self._field = MoveColumns(spec, "pokemon"), MoveColumns(spec, "field")
        self._boosts = cast(Sequence[str], layout.get("boosts", ()))
        columns = MoveColumns(spec, "species", table=True)
        self._base = np.rint(spec.tables["species"][:, columns.of(f"base_{stat}" for stat in ("hp", *STATS))] * 200)
        self._move_facts = [self._facts(move) for move in range(len(self._moves))]

    def states(self, each: Trajectory) -> tuple[list[State], list[int]]:
        """Return the states and the actions of a trajectory."""
        obs = self._spec.obs
        leaves = {leaf.name: obs.leaf(each.obs, leaf.name) for leaf in obs.leaves}
        reals = {name: obs.reals(each.obs, name) for name in ("pokemon", "move_state", "field")}
        states, actions = [], []
        for at in range(len(each.action)):
            step = {name: values[at] for name, values in {**leaves, **reals}.items()}
            states.append(self._state(step))
            actions.append(self._action(step, int(each.action[at])))
        has_won, has_lost = each.score > 0.5, each.score < 0.5
        return [*states, {**states[-1], "battle_won": has_won, "battle_lost": has_lost}], [*actions, MISSING]

    def _state(self, step: dict[str, NDArray[Any]]) -> State:
        field = step["field"]
        active = self._active(step)
        return {
            "format": self._format,
            "player_active_pokemon": self._mon(step, active, own=True),
            "opponent_active_pokemon": self._mon(step, TEAM, own=False),
            "available_switches": [self._mon(step, at, own=True) for at in self._switches(step)],
            "player_prev_move": self._previous(step, active),
            "opponent_prev_move": self._previous(step, TEAM),
            "opponents_remaining": round(float(field[self._field["foe_alive"]]) * TEAM),
            "player_conditions": self._condition(field, "own_", SIDES, "noconditions"),
            "opponent_conditions": self._condition(field, "foe_", SIDES, "noconditions"),
            "weather": self._first_of(field, "weather_", "noweather"),
            "battle_field": self._first_of(field, "terrain_", "nofield"),
            "forced_switch": bool(field[self._field["request_switch"]] > 0),
            "battle_won": False,
            "battle_lost": False,
            "can_tera": "can_tera_0" in self._field and bool(field[self._field["can_tera_0"]] > 0),
            "opponent_teampreview": [],
        }

    def _action(self, step: dict[str, NDArray[Any]], action: int) -> int:
        if action >= self._actions.slot_actions:
            return MISSING  # team preview
        if action >= self._actions.uses:
            order = sorted(self._switches(step), key=lambda at: self._species[int(step["species"][at])])
            place = action - self._actions.uses
            return SWITCH + order.index(place) if place in order else MISSING
        variant, move = divmod(action, self._actions.targets * MOVES)
        ids = [int(each) for each in step["moves"][self._active(step)] if each]
        order = sorted(range(len(ids)), key=lambda at: self._moves[ids[at]])
        first = {"plain": 0, "tera": TERA}.get(self._actions.variants[variant])
        return MISSING if first is None or move >= len(ids) else first + order.index(move)

    def _active(self, step: dict[str, NDArray[Any]]) -> int:
        """Return the place of the own active Pokemon."""
        flags = step["pokemon"][:TEAM, self._pokemon["active"]] > 0
        return int(flags.argmax())

    def _switches(self, step: dict[str, NDArray[Any]]) -> list[int]:
        """Return the places of the own Pokemon that wait and have not fainted."""
        pokemon = step["pokemon"][:TEAM]
        able = (pokemon[:, self._pokemon["alive"]] > 0) & (pokemon[:, self._pokemon["active"]] <= 0)
        return [int(at) for at in np.flatnonzero(able & (step["species"][:TEAM] > 0))]

    def _mon(self, step: dict[str, NDArray[Any]], at: int, *, own: bool) -> State:
        pokemon, species = step["pokemon"][at], int(step["species"][at])
        stages = step["boosts"][0 if own else 1] if at in (self._active(step), TEAM) else np.zeros(7, np.int8)
        kinds = sorted(self._types[each - 1].lower() if each else "notype" for each in step["types"][at][:2].tolist())
        status = next((name for name in STATUSES if pokemon[self._pokemon[name]] > 0), "nostatus")
        volatile = step["volatiles"][0 if own else 1] if at in (self._active(step), TEAM) else ()
        effect = next((name for name, on in zip(self._volatiles, volatile, strict=False) if on), "noeffect")
        base = self._base[species].astype(int).tolist()
        item, ability = (self._visible(step, at, name) for name in ("item", "ability"))
        return {
            "name": self._species[species],
            "hp_pct": float(pokemon[self._pokemon["hp"]]),
            "types": " ".join(kinds),
            "item": _item(self._items[item], "item"),
            "ability": _item(self._abilities[ability], "ability"),
            "lvl": round(float(pokemon[self._pokemon["level"]]) * 100),
            "status": status,
            "effect": effect,
            "moves": [self._move(step, at, slot) for slot in range(MOVES) if self._is_known(step, at, slot)],
            **{f"{stat}_boost": int(stage) for stat, stage in zip(self._boosts, stages, strict=True)},
            **{f"base_{stat}": value for stat, value in zip(("hp", *STATS), base, strict=True)},
            "tera_type": "notype",
            "base_species": self._species[species],
        }

    def _is_known(self, step: dict[str, NDArray[Any]], at: int, slot: int) -> bool:
        """Return whether a move was seen, and is not only probable."""
        return bool(step["move_state"][at][slot][self._move_states.index("known")] >= 1)

    def _visible(self, step: dict[str, NDArray[Any]], at: int, name: str) -> int:
        """Return the id of an item or ability, or 0 if it is only probable."""
        chance = f"{name}_chance"
        if chance in self._pokemon and step["pokemon"][at][self._pokemon[chance]] < 1:
            return 0
        return int(step[name][at])

    def _move(self, step: dict[str, NDArray[Any]], at: int, slot: int) -> State:
        facts = self._move_facts[int(step["moves"][at][slot])]
        pp_share = float(step["move_state"][at][slot][self._move_states.index("pp")])
        return {**facts, "current_pp": round(pp_share * facts["max_pp"])}

    def _previous(self, step: dict[str, NDArray[Any]], at: int) -> State:
        last = step["move_state"][at][:, self._move_states.index("last_used")] > 0
        return self._move(step, at, int(last.argmax())) if last.any() else dict(NO_MOVE)

    def _facts(self, move: int) -> State:
        row, columns = self._spec.tables["move"][move], MoveColumns(self._spec, "move", table=True)
        kind = next((name for name in self._types if row[columns[f"type_{name.lower()}"]] > 0), "unknown")
        category = next(
            name for name in ("physical", "special", "status") if name == "status" or row[columns[name]] > 0
        )
        pp = round(float(row[columns["pp"]]) * 40)
        return {
            **NO_MOVE,
            "name": self._moves[move],
            "move_type": kind.upper(),
            "category": category.upper(),
            "base_power": round(float(row[columns["base_power"]]) * 150),
            "accuracy": round(float(row[columns["accuracy"]]), 4),
            "priority": round(float(row[columns["priority"]]) * 5),
            "max_pp": pp * 8 // 5,
        }

    def _condition(self, field: NDArray[Any], prefix: str, names: Sequence[str], otherwise: str) -> str:
        there = (
            name for name in names if f"{prefix}{name}" in self._field and field[self._field[f"{prefix}{name}"]] > 0
        )
        return next(there, otherwise)

    def _first_of(self, field: NDArray[Any], prefix: str, otherwise: str) -> str:
        columns = cast(Sequence[str], self._spec.layout.get("field", ()))
        there = (
            name.removeprefix(prefix)
            for name, value in zip(columns, field, strict=True)
            if name.startswith(prefix) and not name.endswith("_turns") and value > 0
        )
        return next(there, otherwise)


def _item(name: str, kind: str) -> str:
    return {"unknown": f"unknown{kind}", "none": f"no{kind}"}.get(name, name)


def _word(policy: str) -> str:
    """Return a name without the underscores that separate the parts of a file name."""
    return "".join(each if each.isalnum() else "-" for each in policy).strip("-")[:40] or "player"
