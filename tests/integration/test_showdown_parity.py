"""Both Showdown hosts see one world: battles of the embedded host, told to the server host as a server tells them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ludus.games.showdown.install import Installation

TESTS = Path(__file__).parents[1]
TIMEOUT_S = 170
FORMATS = {  # and a seed near which choices are refused, where there are such
    "gen1randombattle": 1,
    "gen9randombattle": 10,
    "gen9randomdoublesbattle": 6,
    "gen9ou": 1,
}


def compare(
    showdown: Installation, game_format: str, battles: int, seed: int, *, max_turns: int = 300, lose: str | None = None
) -> dict[str, Any]:  # Any: JSON
    script = TESTS / "js" / "parity.js"
    spec = game_format if "random" in game_format else f"{game_format}:{TESTS / 'data' / 'teams' / game_format}"
    command = [str(part) for part in (showdown.node, script, showdown.root, spec, battles, seed, max_turns)]
    environment = os.environ if lose is None else {**os.environ, "LOSE": lose}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("game_format", FORMATS)
def test_rows_rewards_and_endings_are_those_of_the_embedded_host(showdown: Installation, game_format: str) -> None:
    found = compare(showdown, game_format, 3, FORMATS[game_format])
    assert found["differences"] == {}, found["first"]
    assert found["battles"] == 3
    assert found["decisions"] > 50
    assert (found["refused"] > 0) == ("gen9random" in game_format)


def test_a_truncated_match_ends_alike(showdown: Installation) -> None:
    found = compare(showdown, "gen9randombattle", 3, 1, max_turns=5)
    assert found["differences"] == {}, found["first"]
    assert found["battles"] == 3


def test_a_line_that_is_not_told_is_found(showdown: Installation) -> None:
    assert compare(showdown, "gen9randombattle", 3, 1, lose="|-boost|")["differences"]["observation"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("game_format", FORMATS)
def test_two_hundred_battles_are_seen_alike(showdown: Installation, game_format: str) -> None:
    found = compare(showdown, game_format, 200, 1)
    assert found["differences"] == {}, found["first"]
    assert found["battles"] == 200
