"""How many games daemons take at once, and what is refused or made smaller because of it."""

from __future__ import annotations

from typing import Any

import pytest

from ludus.actors.resolved import resolve
from ludus.errors import ConfigError
from ludus.games.forge.daemon_game import game
from ludus.games.forge.daemon_options import DaemonOptions, most_matches

TWO = "127.0.0.1:17171,127.0.0.1:17172"


def settings(hosts: int, matches: int, daemons: str = "", servers: int = 0) -> dict[str, Any]:  # Any: plain data
    options: dict[str, object] = {"decks": ["red.dck"], "daemons": daemons}
    fleet = {"hosts": hosts, "matches": matches}
    return {"game": "forge-daemon", "options": options, "servers": {"count": servers}, "fleet": fleet, "device": "cpu"}


@pytest.mark.parametrize(
    ("daemons", "servers", "most"), [("", 0, 0), ("", 3, 30), (TWO, 0, 20), (TWO, 3, 20), (f"{TWO},{TWO}", 0, 20)]
)
def test_each_daemon_runs_ten_games(daemons: str, servers: int, most: int) -> None:
    assert most_matches(DaemonOptions(daemons=daemons), servers) == most


@pytest.mark.parametrize(
    ("hosts", "matches", "daemons", "servers", "fitting"),
    [
        (2, 64, "", 2, {"fleet.matches": 10}),
        (3, 7, TWO, 0, {"fleet.matches": 6}),
        (25, 4, TWO, 0, {"fleet.hosts": 20, "fleet.matches": 1}),
    ],
)
def test_more_matches_than_the_daemons_run_are_refused_with_a_setting_that_fits(
    hosts: int, matches: int, daemons: str, servers: int, fitting: dict[str, int]
) -> None:
    run = settings(hosts, matches, daemons, servers)
    advice = " ".join(f"--set {name}={value}" for name, value in fitting.items())
    message = f"play {hosts * matches} at once, and the servers run at most 20; use {advice}, or more servers"
    with pytest.raises(ConfigError, match=message):
        resolve(run)
    run["fleet"] |= {name.removeprefix("fleet."): value for name, value in fitting.items()}
    resolve(run)


def test_evaluations_play_as_many_matches_as_fit() -> None:
    options = DaemonOptions(daemons=TWO)
    assert [game.matches_on(options, hosts, 64) for hosts in (1, 3, 50)] == [20, 6, 1]
    assert game.matches_on(DaemonOptions(), 2, 64) == 64  # of a preset, before its servers are known
