"""What rows say is probable of the foe is as often true as they say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ludus.games.showdown.install import Installation

SCRIPTS = Path(__file__).parents[1] / "js"
TIMEOUT_S = 150
LEAST = 2000  # chances in a bin; they are not independent, because a Pokemon is looked at in many decisions
NEAR = 0.1


def calibration(showdown: Installation, battle: str, battles: int) -> dict[str, list[dict[str, float]]]:
    command = [str(showdown.node), str(SCRIPTS / "calibration.js"), str(showdown.root), battle, str(battles)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, list[dict[str, float]]] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    ("battle", "battles", "kinds"),
    [
        ("gen1randombattle", 60, {"moves"}),
        ("gen9randombattle", 80, {"moves", "ability", "item", "tera"}),
        pytest.param("gen9randombattle", 400, {"moves", "ability", "item", "tera"}, marks=pytest.mark.slow),
    ],
)
def test_chances_are_how_often_beliefs_are_true(
    showdown: Installation, battle: str, battles: int, kinds: set[str]
) -> None:
    report = calibration(showdown, battle, battles)

    assert set(report) == kinds
    for kind, bins in report.items():
        known = [each for each in bins if each["chance"] > 0.95]
        assert all(each["truth"] > 0.98 for each in known), (kind, known)
    for each in report["moves"]:
        if each["count"] >= LEAST:
            assert abs(each["truth"] - each["chance"]) < NEAR, report["moves"]
    assert sum(each["count"] for each in report["moves"]) > 5_000


def usage(path: Path, data: Any) -> Path:  # Any: JSON
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def sets_of(showdown: Installation, file: Path) -> subprocess.CompletedProcess[str]:
    """Run the host's reader of usage files on a file and print the sets of Pikachu, by name."""
    program = f"""
        const host = {json.dumps(str(Path(__file__).parents[2] / "src/ludus/games/showdown/host"))};
        const {{ Dex }} = require({json.dumps(str(showdown.root))});
        const {{ tablesOf }} = require(host + '/tables.js');
        const {{ usageSets }} = require(host + '/beliefs/usage.js');
        const tables = tablesOf(Dex.forFormat('gen9ou'));
        const sets = usageSets({json.dumps(str(file))}, tables).get(tables.species.row('Pikachu'));
        const moves = sets.flatMap(set => set[1].map(move => tables.moves.names()[move]));
        const items = sets.map(set => tables.items.names()[set[3]]);
        console.log(JSON.stringify({{ sets: sets.length, moves, items }}));
    """
    command = [str(showdown.node), "-e", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def test_sets_are_drawn_from_a_file_of_usage_statistics(showdown: Installation, tmp_path: Path) -> None:
    pikachu = {
        "Moves": {"thunderbolt": 90.0, "surf": 90.0, "fakeout": 90.0, "nastyplot": 90.0, "irontail": 1.0, "": 5.0},
        "Abilities": {"lightningrod": 100.0},
        "Items": {"lightball": 75.0, "choicescarf": 25.0},
        "Tera Types": {"electric": 3.0},
    }
    done = sets_of(showdown, usage(tmp_path / "usage.json", {"data": {"Pikachu": pikachu, "Nobody": pikachu}}))
    assert done.returncode == 0, done.stderr
    drawn = json.loads(done.stdout)
    assert len(drawn["moves"]) == 4 * drawn["sets"]
    assert (
        drawn["moves"].count("thunderbolt")
        > 0.9 * drawn["sets"]
        > 0.1 * drawn["sets"]
        > drawn["moves"].count("irontail")
    )
    assert 0.65 < drawn["items"].count("lightball") / drawn["sets"] < 0.85


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([], "it has no object"),
        ({"data": {}}, "it names no species"),
        ({"data": {"Pikachu": {"Moves": {"thunderbolt": "many"}}}}, "it names no species"),
    ],
)
def test_a_file_that_holds_no_usage_statistics_is_refused(
    showdown: Installation, tmp_path: Path, data: object, why: str
) -> None:
    done = sets_of(showdown, usage(tmp_path / "usage.json", data))
    assert done.returncode != 0
    assert f"usage.json cannot be used: {why}" in done.stderr
