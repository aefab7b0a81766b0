"""Showdown observations: nothing hidden leaks into them, and what they say of the battle is true."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ludus.games.showdown.install import Installation

SCRIPTS = Path(__file__).parents[1] / "js"
TIMEOUT_S = 240

LEAK_FORMATS = {  # battles
    "gen1randombattle": 5,
    "gen3randombattle": 5,
    "gen4randombattle": 5,
    "gen7randombattle": 4,
    "gen8randombattle": 4,
    "gen9randombattle": 5,
    "gen9randomdoublesbattle": 9,
    "gen9ou:gen9randombattle": 5,
    "gen9vgc2024regg:gen9randomdoublesbattle": 12,
}
TRUTH_FORMATS = {
    **{f"gen{gen}randombattle": 6 for gen in range(1, 10)},
    "gen9randomdoublesbattle": 10,
    **{f"gen{gen}doublesou:gen{gen}randombattle": 5 for gen in range(3, 9)},
    "gen9vgc2024regg:gen9randomdoublesbattle": 8,
}
TIMES = [1, pytest.param(10, marks=pytest.mark.slow)]
WAYS = ("rebuilt", "retold", "served", "anew", "changed", "twin")


def _run(showdown: Installation, script: str, *args: str, leaky: str = "") -> dict[str, Any]:  # Any: JSON
    command = [str(showdown.node), str(SCRIPTS / script), str(showdown.root), *args]
    environment = {**os.environ, "LEAKY": leaky}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("format_and_teams", LEAK_FORMATS)
def test_rows_stay_equal_when_everything_hidden_changes(
    showdown: Installation, format_and_teams: str, times: int
) -> None:
    report = _run(showdown, "leak.js", format_and_teams, str(times * LEAK_FORMATS[format_and_teams]))

    assert report["differences"] == dict.fromkeys(WAYS, 0), report["first"]
    assert report["decisions"] >= 300 * times
    assert report["changes"] >= 30 * report["decisions"]


@pytest.mark.parametrize(
    ("leaky", "caught_by"),
    [
        ("hp", ("changed",)),
        ("team", ("changed", "twin")),
        ("moves", ("changed",)),
        ("item", ("changed",)),
        ("speed", ("changed",)),
        ("log", ("rebuilt", "retold")),
    ],
)
def test_an_observer_made_to_leak_is_caught(showdown: Installation, leaky: str, caught_by: tuple[str, ...]) -> None:
    report = _run(showdown, "leak.js", "gen9randombattle", "2", leaky=leaky)

    assert all(report["differences"][way] > 0 for way in caught_by)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("format_and_teams", TRUTH_FORMATS)
def test_the_tracked_public_state_agrees_with_the_simulator(
    showdown: Installation, format_and_teams: str, times: int
) -> None:
    report = _run(showdown, "truth.js", format_and_teams, str(times * TRUTH_FORMATS[format_and_teams]))

    assert report["disagreements"] == {}, report["examples"]
    assert report["checks"] > 15_000 * times
