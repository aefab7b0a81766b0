"""Groups of Showdown's observations can be left out; without those of schema 5, rows are those of schema 4."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from ludus.games.showdown.game import Group
from ludus.games.showdown.install import Installation

HOST = Path(__file__).parents[2] / "src/ludus/games/showdown/host"
TIMEOUT_S = 120
SINCE_5 = ["last_turn", "speed", "evidence", "pairs", "forms"]
LEAVES = {"last_turn", "last_move", "pairs", "form_matchup", "form_threat"}
COLUMNS = {"speed_least", "speed_most", "repeated", "not_choice", "not_leftovers", "not_boots", "not_life_orb"}


def described(showdown: Installation, *leave_out: str) -> subprocess.CompletedProcess[str]:
    """Print what a host says of observations, without their tables, and the sum of all bytes of `ko` in 3 battles."""
    program = f"""
        const {{ setUp, hello }} = require({json.dumps(str(HOST / "setup.js"))});
        const {{ Setting }} = require({json.dumps(str(Path(__file__).parents[1] / "js" / "battles.js"))});
        const options = {{ format: 'gen9randombattle', leave_out: {json.dumps(leave_out)} }};
        const setup = setUp({json.dumps(str(showdown.root))}, options, false);
        const {{ schema, obs, layout }} = hello(setup);
        const setting = new Setting({json.dumps(str(showdown.root))}, options.format);
        setting.observer = setup.observer;
        const row = new Uint8Array(setup.observer.nbytes);
        let ko = 0;
        for (const seed of [1, 2, 3]) setting.play(seed, (battle, view, seat, request) => {{
            view.encode(seat, request, row, 0);
            for (let i = 4; i < 6 * 4 * 5; i += 5) ko += row[setup.observer.offsets.matchup + i];
        }});
        console.log(JSON.stringify({{ schema, leaves: obs.map(leaf => leaf[0]), pokemon: layout.pokemon,
            leftOut: layout.left_out ?? null, hasBeliefs: setup.observer.beliefs !== null, ko }}));
    """
    command = [str(showdown.node), "-e", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def observations(showdown: Installation, *leave_out: str) -> dict[str, Any]:  # Any: JSON
    done = described(showdown, *leave_out)
    assert done.returncode == 0, done.stderr
    page: dict[str, Any] = json.loads(done.stdout)
    return page


def test_rows_have_all_groups_unless_told_otherwise(showdown: Installation) -> None:
    page = observations(showdown)
    assert page["schema"] == 5
    assert set(page["leaves"]) >= LEAVES
    assert set(page["pokemon"]) >= COLUMNS
    assert page["leftOut"] is None
    assert page["hasBeliefs"]
    assert page["ko"] > 0


def test_without_the_groups_of_schema_5_rows_are_those_of_schema_4(showdown: Installation) -> None:
    page = observations(showdown, *SINCE_5)
    assert page["schema"] == 4
    assert not LEAVES & set(page["leaves"])
    assert not COLUMNS & set(page["pokemon"])
    assert page["leftOut"] is None  # or the fingerprint would not be that of schema 4


@pytest.mark.parametrize("group", get_args(Group))
def test_a_group_is_left_out_and_named_in_the_layout(showdown: Installation, group: str) -> None:
    page = observations(showdown, group)
    everything = LEAVES | COLUMNS
    gone = everything - set(page["leaves"]) - set(page["pokemon"])
    assert gone == {
        "last_turn": {"last_turn", "last_move"},
        "speed": {"speed_least", "speed_most"},
        "evidence": {"repeated", "not_choice", "not_leftovers", "not_boots", "not_life_orb"},
        "pairs": {"pairs"},
        "forms": {"form_matchup", "form_threat"},
    }.get(group, set())
    assert page["leftOut"] == [group]
    assert page["hasBeliefs"] == (group != "beliefs")
    assert (page["ko"] > 0) == (group != "ko")


def test_an_unknown_group_is_refused(showdown: Installation) -> None:
    done = described(showdown, "last_trun")
    assert done.returncode != 0
    assert "option leave_out must be a list of last_turn, speed, evidence, pairs, forms, ko, beliefs" in done.stderr
