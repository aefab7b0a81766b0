"""Draining a fleet, and the events of its hosts."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from tests.playing import QUICK, first_legal, play, toy_fleet, wait_until_gone

from ludus import limits
from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.fleet.inbox import Inbox
from ludus.fleet.voided import VoidedMatches
from ludus.processes.command import HostCommand

REPORTER = """
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve

def make(options):
    spec = spec_of(ToyOptions())
    def events(send):
        send({"event": "connected", "to": "nowhere"})
        send({"event": "ready"})
    return HostedGame(spec, lambda: new_match(ToyOptions(), spec), events=events)

serve(make)
"""
ONE = FleetConfig(hosts=1, matches=2, backoff_s=0.01)


@pytest.mark.parametrize("schedule", [None, [(number, number) for number in range(100)]])
def test_a_drained_fleet_ends_the_matches_it_runs_and_begins_no_others(
    tmp_path: Path, schedule: list[tuple[int, int]] | None
) -> None:
    with toy_fleet(tmp_path, QUICK, {"game": "rps", "rounds": 5}, schedule=schedule) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        fleet.send(opening.row, first_legal(opening))
        running = set(opening.match.tolist())
        fleet.drain()
        played = play(fleet, lambda played: fleet.health.exhausted)
        assert {ending.match for ending in played.endings} == running
        assert not played.voided
        health = fleet.health
        assert (health.alive, health.restarts, health.given_up) == (2, 0, 0)
        assert len(fleet.recv(0.0)) == 0


def test_a_host_that_dies_while_it_drains_is_not_started_again(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, ONE, {"game": "rps", "rounds": 5}) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        fleet.drain()
        pids = fleet.pids
        os.kill(pids[0], signal.SIGKILL)
        wait_until_gone(pids)
        fleet.send(opening.row, first_legal(opening))
        played = play(fleet, lambda played: fleet.health.exhausted and bool(played.endings))
        assert [ending.void for ending in played.endings] == ["died", "died"]
        assert fleet.health.restarts == 0


def test_a_drain_before_anything_was_answered_waits_for_the_rows_that_came(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, ONE, {"game": "identity", "rounds": 1}) as fleet:
        fleet.drain()
        fleet.drain()
        assert len(play(fleet, lambda played: fleet.health.exhausted).finished) == 2


@pytest.mark.parametrize("events", [True, False])
def test_events_are_those_that_the_host_sent_if_somebody_asked(tmp_path: Path, events: bool) -> None:
    command = HostCommand((sys.executable, "-c", REPORTER))
    with HostFleet(command, ONE, options={}, seed=1, log_dir=tmp_path, events=events) as fleet:
        fleet.recv(60.0, wait_all=True)
        expected = [{"event": "connected", "to": "nowhere"}, {"event": "ready"}]
        assert fleet.take_events() == (expected if events else [])
        assert fleet.take_events() == []
        assert fleet.health.restarts == 0


def test_a_host_that_floods_costs_the_events_and_no_memory(caplog: pytest.LogCaptureFixture) -> None:
    inbox = Inbox(3, (), VoidedMatches())
    for number in range(limits.EVENTS_UNTAKEN + 50):
        inbox.add_event({"number": number})
    assert [event["number"] for event in inbox.take_events()] == list(range(limits.EVENTS_UNTAKEN))
    assert caplog.text.count("host 3 sends events faster than they are taken") == 1
    inbox.add_event({"number": 0})
    assert len(inbox.take_events()) == 1
