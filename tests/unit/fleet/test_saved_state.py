"""Where matches stand, on real toy hosts; tests/unit/fleet/test_replay.py goes on from there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.playing import first_legal, toy_fleet

from ludus.fleet import saved_state
from ludus.fleet.fleet import HostFleet
from ludus.fleet.saved_state import NONE, FleetState
from ludus.types import Arrivals


def stood(fleet: HostFleet, rounds: int) -> FleetState:
    for _ in range(rounds):
        arrivals = fleet.recv(60.0, wait_all=True)
        fleet.send(arrivals.row, first_legal(arrivals))
    return fleet.saved_state()


def same(one: Arrivals, other: Arrivals) -> bool:
    columns = ("row", "match", "obs", "legal", "reward", "opens")
    return [e.match for e in one.endings] == [e.match for e in other.endings] and all(
        np.array_equal(getattr(one, column), getattr(other, column)) for column in columns
    )


def test_asking_where_matches_stand_changes_nothing(tmp_path: Path) -> None:
    records: list[list[Arrivals]] = []
    for asks in (False, True):
        with toy_fleet(tmp_path / str(asks)) as fleet:
            records.append([])
            for _ in range(12):
                arrivals = fleet.recv(60.0, wait_all=True)
                records[-1].append(arrivals)
                fleet.send(arrivals.row, first_legal(arrivals))
                if asks:
                    fleet.saved_state()
    assert all(same(one, other) for one, other in zip(*records, strict=True))


def test_choices_of_running_matches_and_the_rows_that_wait_are_kept(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"game": "rps", "rounds": 5}) as fleet:
        whole = stood(fleet, 7)  # each match is at its third decision, the second of its slot
        for host in whole.hosts:
            assert sorted(host.number.tolist()) == [4, 5, 6, 7]
            assert host.following == 8
            assert host.count.tolist() == [2] * 8
            assert host.choice.tolist() == [0] * 16
            assert sorted(host.waiting.row.tolist()) == list(range(8))
        next_one = fleet.recv(60.0, wait_all=True)
        assert len(next_one) == 16


def test_what_is_packed_comes_back(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"game": "rps", "rounds": 50, "truncate_after": 3}) as fleet:
        whole = stood(fleet, 3)
        again = saved_state.unpack(*saved_state.pack(whole))
    assert again.seed == whole.seed
    for one, other in zip(whole.hosts, again.hosts, strict=True):
        assert (one.incarnation, one.following) == (other.incarnation, other.following)
        for column in ("number", "count", "choice"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
        for column in ("row", "match", "reward", "opens", "legal", "obs"):
            np.testing.assert_array_equal(getattr(one.waiting, column), getattr(other.waiting, column))
        assert len(one.endings) == 4
        for ending, back in zip(one.endings, other.endings, strict=True):
            assert (ending.match, ending.seed, ending.facts) == (back.match, back.seed, back.facts)
            for column in ("rows", "score", "reward", "final_obs"):
                np.testing.assert_array_equal(getattr(ending, column), getattr(back, column))


def test_a_slot_that_is_left_out_loses_its_choices_and_its_rows(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"game": "rps", "rounds": 5}) as fleet:
        host = stood(fleet, 2).hosts[0].without({1, 3})
    assert host.number.tolist() == [0, NONE, 2, NONE]
    assert host.count.tolist() == [2, 2, 0, 0, 2, 2, 0, 0]
    assert len(host.choice) == 8
    assert sorted(host.waiting.row.tolist()) == [0, 1, 4, 5]
    assert host.resumption().open == [0, None, 2, None]
