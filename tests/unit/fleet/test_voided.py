"""Voided matches are counted once, by reason, whether or not anybody saw them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.playing import first_host_dies, first_legal, play, toy_fleet, wait_until_gone

from ludus.config.settings import FleetConfig
from ludus.errors import FleetError
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import FleetHealth
from ludus.fleet.saved_state import FleetState
from ludus.fleet.voided import OTHER_REASONS, reason_of

ONE = FleetConfig(hosts=1, matches=4, backoff_s=0.01)
RPS = {"game": "rps", "rounds": 20}


def lose_all(fleet: HostFleet) -> FleetHealth:
    """Kill the host, and return the health when its successor plays."""
    pids = fleet.pids
    os.kill(pids[0], signal.SIGKILL)
    wait_until_gone(pids)
    played = play(fleet, lambda played: fleet.health.restarts == 1 and len(played.rows) >= fleet.rows)
    health = fleet.health
    assert sum(health.voided.values()) == len(played.voided) + health.unseen
    return health


def test_matches_that_the_caller_knows_are_counted_with_their_endings(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, ONE, RPS) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        fleet.send(opening.row, first_legal(opening))
        health = lose_all(fleet)
        assert (dict(health.voided), health.unseen) == ({"died": 4}, 0)


def test_matches_that_nobody_saw_are_counted_by_the_same_reason(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, ONE, RPS) as fleet:
        fleet.saved_state()  # waits for the opening and delivers nothing
        health = lose_all(fleet)
        assert (dict(health.voided), health.unseen) == ({"died": 4}, 4)


def test_endings_that_were_saved_are_counted_by_the_fleet_that_delivers_them(tmp_path: Path) -> None:
    with toy_fleet(tmp_path / "first", ONE, RPS) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        os.kill(fleet.pids[0], signal.SIGSTOP)
        fleet.send(opening.row, first_legal(opening))
        state = fleet.saved_state(within_s=0.1)
        assert not fleet.health.voided
    with toy_fleet(tmp_path / "second", ONE, RPS, saved_state=state) as fleet:
        endings = fleet.recv(60.0, wait_all=True).endings
        assert [ending.void for ending in endings] == ["hung"] * 4
        assert dict(fleet.health.voided) == {"hung": 4}


def test_host_that_dies_before_its_hello_cannot_resume(tmp_path: Path) -> None:
    with toy_fleet(tmp_path / "first", ONE, RPS) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        fleet.send(opening.row, first_legal(opening))
        state: FleetState = fleet.saved_state()
    broken = first_host_dies(greets=False)
    with pytest.raises(FleetError, match="before HELLO"):
        toy_fleet(tmp_path / "second", ONE, RPS, saved_state=state, hosts=broken)


def test_reasons_of_a_host_are_shortened_and_limited_in_number() -> None:
    known: set[str] = set()
    for number in range(100):
        known.add(reason_of(f"server {number} is away\nwith a traceback", known))
    assert len(known) == 21
    assert OTHER_REASONS in known
    assert reason_of("server 3 is away", known) == "host: server 3 is away"
    assert reason_of(" \n", set()) == "host: no reason given"
    assert len(reason_of("x" * 10_000, set())) == 200
    assert reason_of("red \x1b[31m", set()) == "host: red  [31m"
