"""A second fleet goes on where a first one stood."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.playing import QUICK, both_finished, faulty_fleet, first_legal, play, toy_fleet, voided
from tests.unit.fleet.test_saved_state import same, stood

from ludus.fleet.fast_forward import FastForward
from ludus.fleet.fleet import HostFleet
from ludus.fleet.saved_state import NONE, FleetState, HostState
from ludus.types import Arrivals


def following(fleet: HostFleet, rounds: int) -> list[Arrivals]:
    record = []
    for _ in range(rounds):
        arrivals = fleet.recv(60.0, wait_all=True)
        record.append(arrivals)
        fleet.send(arrivals.row, first_legal(arrivals))
    return record


def with_host(standing: FleetState, host: HostState) -> FleetState:
    return replace(standing, hosts=(host, *standing.hosts[1:]))


@pytest.mark.parametrize(
    "options", [{"game": "nim"}, {"game": "rps", "rounds": 5}, {"game": "rps", "truncate_after": 3}]
)
@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_a_second_fleet_returns_what_the_first_would_have(
    tmp_path: Path, options: dict[str, object], rounds: int
) -> None:
    with toy_fleet(tmp_path / "first", options=options) as fleet:
        standing = stood(fleet, rounds)
        expected = following(fleet, 15)
    with toy_fleet(tmp_path / "second", options=options, saved_state=standing) as fleet:
        assert all(same(one, other) for one, other in zip(expected, following(fleet, 15), strict=True))
        assert not voided(fleet)


def test_where_a_replayed_fleet_stands_is_where_the_first_stood(tmp_path: Path) -> None:
    with toy_fleet(tmp_path / "first") as fleet:
        standing = stood(fleet, 9)
    with toy_fleet(tmp_path / "second", saved_state=standing) as fleet:
        again = fleet.saved_state()
    for one, other in zip(standing.hosts, again.hosts, strict=True):
        assert one.resumption() == other.resumption()
        np.testing.assert_array_equal(one.count, other.count)
        np.testing.assert_array_equal(one.choice, other.choice)
        np.testing.assert_array_equal(one.waiting.row, other.waiting.row)


def test_only_a_match_that_diverges_is_voided_and_another_begins_there(tmp_path: Path) -> None:
    options = {"game": "rps", "rounds": 8}
    with toy_fleet(tmp_path / "first", options=options) as fleet:
        standing = stood(fleet, 3)
    host = standing.hosts[0]
    changed = host.waiting.obs.copy()
    at = host.waiting.row.tolist().index(2)  # of the second match
    changed[at] ^= 255
    other = with_host(standing, replace(host, waiting=host.waiting._replace(obs=changed)))
    with toy_fleet(tmp_path / "second", options=options, saved_state=other) as fleet:
        arrivals = fleet.recv(60.0, wait_all=True)
        while len(arrivals) < fleet.rows:  # the host is started again meanwhile
            fleet.send(arrivals.row[:0], arrivals.row[:0])
            more = fleet.recv(60.0)
            arrivals = more if not len(arrivals) else _both(arrivals, more)
        assert voided(fleet) == {"diverged": 1}
        assert [(ending.match, ending.void, ending.rows.tolist()) for ending in arrivals.endings] == [
            (1, "diverged", [2, 3])
        ]
        fresh = np.isin(arrivals.row, [2, 3])
        assert set(arrivals.match[fresh].tolist()) == {host.following}
        assert arrivals.opens[fresh].all()
        assert not arrivals.opens[~fresh].any()
        fleet.send(arrivals.row, first_legal(arrivals))
        assert len(play(fleet, lambda played: len(played.finished) >= 16).voided) == 0


def _both(one: Arrivals, other: Arrivals) -> Arrivals:
    columns = ("row", "match", "obs", "legal", "reward", "opens")
    joined = {column: np.concatenate((getattr(one, column), getattr(other, column))) for column in columns}
    return Arrivals(**joined, endings=one.endings + other.endings)


@pytest.mark.parametrize("trouble", ["illegal", "too many choices", "too few choices"])
def test_choices_that_cannot_be_right_void_the_matches_and_do_not_hang(tmp_path: Path, trouble: str) -> None:
    with toy_fleet(tmp_path / "first", options={"game": "rps", "rounds": 8}) as fleet:
        standing = stood(fleet, 3)
    host = standing.hosts[0]
    wrong = {
        "illegal": replace(host, choice=np.full_like(host.choice, 9)),
        "too many choices": replace(host, count=host.count + 9, choice=np.zeros(12 * len(host.count), np.int32)),
        "too few choices": replace(host, count=host.count - 1, choice=host.choice[: 2 * len(host.count)]),
    }[trouble]
    with toy_fleet(tmp_path / "second", options={"game": "rps"}, saved_state=with_host(standing, wrong)) as fleet:
        played = play(fleet, both_finished(fleet))
        assert voided(fleet) == {"diverged": 4}
        assert sorted(ending.match for ending in played.voided) == [0, 1, 2, 3]
        assert fleet.health.alive == 2


def test_after_a_second_divergence_all_matches_of_the_host_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy_fleet(tmp_path / "first", options={"game": "rps", "rounds": 8}) as fleet:
        standing = stood(fleet, 3)

    def moody(replay: FastForward) -> set[int]:
        """Always one match of those that are left."""
        return {next(slot for slot, number in enumerate(replay.saved.number) if number != NONE)}

    monkeypatch.setattr(FastForward, "diverged", moody)
    with toy_fleet(tmp_path / "second", options={"game": "rps", "rounds": 8}, saved_state=standing) as fleet:
        played = play(fleet, both_finished(fleet))
        assert voided(fleet) == {"diverged": 8}
        assert fleet.health.restarts == 4
        assert len({ending.match for ending in played.endings}) == len(played.endings)
        assert len(played.voided) == 8


def test_a_host_that_dies_in_its_replay_begins_anew(tmp_path: Path) -> None:
    with toy_fleet(tmp_path / "first", options={"game": "rps", "rounds": 50}) as fleet:
        standing = stood(fleet, 20)
    marker = str(tmp_path / "marker")
    options = {"game": "rps", "rounds": 50, "crash_after": 40, "fault_marker": marker}
    with faulty_fleet(tmp_path / "second", QUICK, options, saved_state=standing) as fleet:
        played = play(fleet, both_finished(fleet))
        assert voided(fleet) == {"died": 4}
        assert len(played.voided) == 4
        assert len({ending.match for ending in played.endings}) == len(played.endings)


def test_a_host_that_was_down_begins_anew_with_seeds_of_its_own(tmp_path: Path) -> None:
    with toy_fleet(tmp_path / "first") as fleet:
        standing = stood(fleet, 3)
    down = standing.hosts[0].without(range(4))
    assert (down.number == NONE).all()
    with toy_fleet(tmp_path / "second", saved_state=with_host(standing, down)) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        assert {int(match) >> 32 for match in opening.match[opening.row < 8]} == {
            2
        }  # (host 0, incarnation 1) of 2 hosts
        assert not voided(fleet)
