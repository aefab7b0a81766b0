"""What the Showdown benchmark measures does what its name says, on the real engine and the real server."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from typing import cast

import pytest
from benchmarks.showdown_server import free_port, serve

from ludus.games.showdown.game import HERE
from ludus.games.showdown.install import Installation

ENGINE = Path(__file__).parents[2] / "benchmarks" / "drivers" / "engine.js"


def play(found: Installation, mode: str, battle_format: str, *requests: dict[str, object]) -> list[dict[str, float]]:
    options = ["--sim", found.root, "--host", HERE / "host", "--format", battle_format, "--matches", "4"]
    asked = "".join(json.dumps(request) + "\n" for request in requests)
    command = [str(part) for part in (found.node, ENGINE, mode, *options)]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    ready, *answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert ready == {"ready": True}
    return cast(list[dict[str, float]], answers)


@pytest.mark.parametrize("battle_format", ["gen1randombattle", "gen7randombattle", "gen9randomdoublesbattle"])
@pytest.mark.parametrize("mode", ["bare", "ceiling"])
def test_engine_plays_random_battles_without_a_refused_choice(
    showdown: Installation, mode: str, battle_format: str
) -> None:
    (answer,) = play(showdown, mode, battle_format, {"seconds": 0.5})
    assert answer["decisions"] > 0
    assert answer["seconds"] >= 0.5


def test_ceiling_clocks_masks_and_observations(showdown: Installation) -> None:
    (answer,) = play(showdown, "ceiling", "gen1randombattle", {"seconds": 0.5})
    assert 0 < answer["encoding_us"] < 1e6 * answer["seconds"] / answer["decisions"]


def test_hosts_with_and_without_a_clock_play_the_same_matches(showdown: Installation) -> None:
    driver = ENGINE.with_name("activities.js")
    options = ["--sim", showdown.root, "--host", HERE / "host", "--format", "gen1randombattle", "--matches", "2"]
    command = [str(part) for part in (showdown.node, driver, *options)]
    asked = json.dumps({"frames": 60}) + "\n"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr  # it fails when the two part
    answer = json.loads(done.stdout)
    timed = 60 // answer["timed_of"][0]
    assert len(answer["on"]) == len(answer["off"]) == timed
    assert len(answer["others_on"]) == len(answer["others_off"]) == 60 - timed
    assert sum(answer["on"]) > 0
    assert answer["lap_us"][0] > 0


def test_server_listens_on_loopback_and_leaves_the_installed_package_alone(showdown: Installation) -> None:
    before = sorted(path.name for path in showdown.root.rglob("*") if path.is_file())
    with serve(showdown, "0") as port:
        socket.create_connection(("127.0.0.1", port), 5.0).close()
    assert sorted(path.name for path in showdown.root.rglob("*") if path.is_file()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5.0)


def test_server_moves_on_when_somebody_else_has_taken_its_port(showdown: Installation) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        ports = iter([taken, free_port()])
        with serve(showdown, "0", lambda: next(ports)) as port:
            assert port != taken
            socket.create_connection(("127.0.0.1", port), 5.0).close()
