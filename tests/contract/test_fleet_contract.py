"""What rollout, actor and arena rely on, for every implementation of the `Fleet` protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.playing import first_legal, toy_fleet

from ludus.config.settings import FleetConfig
from ludus.fleet.inprocess import InProcessFleet
from ludus.fleet.interface import Fleet
from ludus.games.toy.matches import new_match, spec_of
from ludus.games.toy.options import ToyOptions

MATCHES = 3
OPTIONS = ToyOptions(game="rps", rounds=3)


def in_process(_: Path) -> Fleet:
    spec = spec_of(OPTIONS)
    return InProcessFleet(spec, lambda: new_match(OPTIONS, spec), MATCHES, seed=1)


def of_hosts(folder: Path) -> Fleet:
    config = FleetConfig(hosts=1, matches=MATCHES)
    return toy_fleet(folder, config, {"game": OPTIONS.game, "rounds": OPTIONS.rounds})


@pytest.fixture(params=[in_process, of_hosts])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    make: Callable[[Path], Fleet] = request.param
    made = make(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_the_table_of_rows_has_one_for_every_seat_of_every_slot(fleet: Fleet) -> None:
    assert fleet.rows == fleet.hosts * MATCHES * fleet.spec.seats
    opening = fleet.recv(60.0, wait_all=True)
    assert sorted(opening.row.tolist()) == list(range(fleet.rows))
    assert opening.opens.all()
    assert opening.obs.shape == (fleet.rows, fleet.spec.obs.nbytes)
    assert opening.legal.shape == (fleet.rows, fleet.spec.actions)
    assert opening.legal.any(axis=1).all()


def test_a_row_comes_again_only_after_it_was_answered(fleet: Fleet) -> None:
    opening = fleet.recv(60.0, wait_all=True)
    assert len(fleet.recv(0.0)) == 0
    fleet.send(opening.row, first_legal(opening))
    again = fleet.recv(60.0, wait_all=True)
    assert sorted(again.row.tolist()) == sorted(opening.row.tolist())


def test_every_match_ends_once_before_the_next_one_opens_in_its_slot(fleet: Fleet) -> None:
    running: dict[int, int] = {}  # first row of a slot -> match
    begun: dict[int, int] = {}  # row -> match of its last decision
    ended: Counter[int] = Counter()
    for _ in range(12):
        arrivals = fleet.recv(60.0, wait_all=True)
        for ending in arrivals.endings:
            assert running.pop(int(ending.rows[0])) == ending.match
            assert len(ending.rows) == len(ending.score) == len(ending.reward) == fleet.spec.seats
            ended[ending.match] += 1
        for row, match, opens in zip(
            *(each.tolist() for each in (arrivals.row, arrivals.match, arrivals.opens)), strict=True
        ):
            assert opens == (row not in begun or begun[row] != match)
            assert running.setdefault(row - row % fleet.spec.seats, match) == match
            begun[row] = match
        fleet.send(arrivals.row, first_legal(arrivals))
    assert len(ended) >= 2 * MATCHES
    assert set(ended.values()) == {1}


def test_a_healthy_fleet_has_lost_nothing(fleet: Fleet) -> None:
    arrivals = fleet.recv(60.0, wait_all=True)
    fleet.send(arrivals.row, np.zeros(len(arrivals), np.int32))
    health = fleet.health
    assert health.alive == fleet.hosts
    assert (health.restarts, health.given_up, health.unseen, health.voided) == (0, 0, 0, Counter())
    assert not health.exhausted
    assert all(wall_ns >= 0 for wall_ns in fleet.take_times().walls.values())


def test_a_saved_state_holds_the_running_matches_if_there_is_one(fleet: Fleet) -> None:
    arrivals = fleet.recv(60.0, wait_all=True)
    fleet.send(arrivals.row, first_legal(arrivals))
    state = fleet.saved_state()
    assert state is None or [host.runs for host in state.hosts] == [MATCHES] * fleet.hosts
