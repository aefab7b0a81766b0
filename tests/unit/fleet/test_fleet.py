"""The fleet on real toy hosts; what happens when they break is in tests/chaos."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from tests.playing import QUICK, first_legal, host_of, play, toy_fleet

from ludus.config.settings import FleetConfig
from ludus.errors import ProtocolError
from ludus.fleet.fleet import HostFleet
from ludus.fleet.host import Host
from ludus.fleet.session import Launch
from ludus.fleet.setup import Setup
from ludus.games.toy.game import game
from ludus.metrics import names
from ludus.metrics.times import HOSTS
from ludus.processes.cores import cores
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals
from ludus.wire.bodies import TimesBody
from ludus.wire.frames import HEADER_BYTES, FrameKind, encode_arrivals, encode_hello, encode_times


def recorded(fleet: HostFleet, rounds: int) -> list[Arrivals]:
    record = []
    for _ in range(rounds):
        arrivals = fleet.recv(60.0, wait_all=True)
        record.append(arrivals)
        fleet.send(arrivals.row, first_legal(arrivals))
    return record


@pytest.mark.parametrize("toy", ["nim", "rps", "identity", "recall"])
def test_waiting_for_all_gives_the_same_arrivals_every_time(tmp_path: Path, toy: str) -> None:
    records = []
    for attempt in range(2):
        with toy_fleet(tmp_path / str(attempt), options={"game": toy}) as fleet:
            records.append(recorded(fleet, 30))
    for one, other in zip(*records, strict=True):
        for column in ("row", "match", "obs", "legal", "reward", "opens"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
        assert [(e.match, e.seed, e.rows.tolist()) for e in one.endings] == [
            (e.match, e.seed, e.rows.tolist()) for e in other.endings
        ]
    assert any(arrivals.endings for arrivals in records[0])


def test_waiting_for_all_gives_rows_in_the_order_of_hosts(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, FleetConfig(hosts=3, matches=4), {"game": "rps"}) as fleet:
        for arrivals in recorded(fleet, 5):
            hosts = [host_of(fleet, int(row)) for row in arrivals.row]
            assert hosts == sorted(hosts)
            assert len(arrivals) == fleet.rows


def test_different_seeds_and_hosts_play_different_matches(tmp_path: Path) -> None:
    openings = []
    for seed in (1, 2):
        with toy_fleet(tmp_path, FleetConfig(hosts=2, matches=16), seed=seed) as fleet:
            obs = fleet.recv(60.0, wait_all=True).obs
            openings += [obs[:16].tobytes(), obs[16:].tobytes()]
    assert len(set(openings)) == 4


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has a policy for those who compute")
def test_hosts_do_not_take_the_core_from_whoever_wakes_them(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, FleetConfig(hosts=2, matches=4)) as fleet:
        assert [os.sched_getscheduler(pid) for pid in fleet.pids] == [os.SCHED_BATCH] * 2
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_hosts_say_where_their_time_went_unless_nobody_asks(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, FleetConfig(hosts=2, matches=4), times_s=0.05) as fleet:
        began_s = time.monotonic()
        walls: list[float] = []
        while len(walls) < 3 and time.monotonic() - began_s < 60:
            recorded(fleet, 1)
            times = fleet.take_times()
            if times.walls:
                assert sum(line.share for line in times.lines()) == pytest.approx(1.0)
                assert times.activities[names.HOST_SIMULATE].passes > 0
                walls.append(times.walls[HOSTS] / 1e9)
                assert len(fleet.health.busy) == 2
                assert all(0 <= busy <= 1 or math.isnan(busy) for busy in fleet.health.busy)
        spent_s = time.monotonic() - began_s
    assert 3 * 0.05 <= sum(walls) < 2 * spent_s + 1
    with toy_fleet(tmp_path, FleetConfig(hosts=1, matches=4), times_s=None) as fleet:
        recorded(fleet, 5)
        assert not fleet.take_times().walls


@pytest.mark.parametrize(("times_s", "owed"), [(None, 1), (0.5, 0)])
def test_times_that_nobody_asked_for_or_that_come_unasked_break_the_protocol(
    tmp_path: Path, times_s: float | None, owed: int
) -> None:
    setup = Setup(game.command(game.options()), {}, 1, 1, 4, False, False, tmp_path, times_s)
    spec = GameSpec("toy", 1, 2, ObsSpec.pack({"pile": ("uint8", (1,))}), 1)
    host = Host(0, setup, None)
    host.launch = Launch(0, lambda data: None, None, 0, 1, 0, None, None)
    host.take(FrameKind.HELLO, memoryview(encode_hello(spec)[HEADER_BYTES:]))
    if not owed:
        host.take(FrameKind.ARRIVALS, memoryview(no_rows(spec)[HEADER_BYTES:]))
    with pytest.raises(ProtocolError, match="TIMES, which was not requested"):
        host.take(FrameKind.TIMES, memoryview(encode_times(TimesBody(1.0, {}))[HEADER_BYTES:]))


def no_rows(spec: GameSpec) -> bytes:
    """A complete answer in which no row must choose."""
    rows, shown = np.zeros(0, np.int32), np.zeros((0, spec.obs.nbytes), np.uint8)
    legal = np.zeros((0, spec.actions), np.bool_)
    return encode_arrivals(
        rows, rows.astype(np.uint32), rows.astype(np.float32), rows.astype(np.bool_), legal, shown, True
    )


def test_recv_returns_what_is_ready_while_one_host_is_slow(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        opening = fleet.recv(60.0, wait_all=True)
        os.kill(fleet.pids[0], signal.SIGSTOP)
        fleet.send(opening.row, first_legal(opening))
        seen: list[int] = []
        while len(seen) < 50:
            arrivals = fleet.recv(60.0)
            seen += [host_of(fleet, int(row)) for row in arrivals.row]
            fleet.send(arrivals.row, first_legal(arrivals))
        assert set(seen) == {1}
        assert len(fleet.recv(0.0, wait_all=True)) == 0
        os.kill(fleet.pids[0], signal.SIGCONT)
        everybody = fleet.recv(60.0, wait_all=True)
        assert {host_of(fleet, int(row)) for row in everybody.row} == {0, 1}
        assert fleet.health.restarts == 0


def test_perfect_players_of_nim_win_from_every_winning_pile(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        perfect = game.scripted["perfect"](fleet.spec, 1)
        won: dict[int, float] = {}
        piles: dict[int, int] = {}
        while len(won) < 60:
            arrivals = fleet.recv(60.0)
            won.update({ending.match: float(ending.score[0]) for ending in arrivals.endings})
            shown = fleet.spec.obs.leaf(arrivals.obs, "pile").argmax(axis=1)
            for match, pile in zip(arrivals.match.tolist(), shown.tolist(), strict=True):
                piles.setdefault(match, pile)
            fleet.send(arrivals.row, perfect.act(arrivals).action)
    assert all(score == float(piles[match] % 4 != 0) for match, score in won.items())


def test_rewards_of_a_match_add_up_to_its_result(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"game": "rps", "rounds": 5}) as fleet:
        random = game.scripted["random"](fleet.spec, 1)
        earned: dict[tuple[int, int], float] = {}
        checked = 0
        while checked < 20:
            arrivals = fleet.recv(60.0)
            for ending in arrivals.endings:
                totals = [earned.pop((ending.match, int(r)), 0.0) for r in ending.rows] + ending.reward
                assert totals[0] == -totals[1]
                assert (ending.score[0] > 0.5) == (totals[0] > 0)
                checked += 1
            for row, match, reward in zip(arrivals.row, arrivals.match, arrivals.reward, strict=True):
                key = int(match), int(row)
                earned[key] = earned.get(key, 0.0) + float(reward)
            fleet.send(arrivals.row, random.act(arrivals).action)


def test_truncated_matches_bring_their_final_observation(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"truncate_after": 1}) as fleet:
        ending = play(fleet, lambda played: bool(played.finished)).finished[0]
        assert ending.truncated
        assert ending.final_obs is not None
        assert ending.final_obs.shape == (2, fleet.spec.obs.nbytes)
        assert ending.score.tolist() == [0.5, 0.5]


def test_schedule_is_played_to_its_end_with_the_given_numbers_and_logs(tmp_path: Path) -> None:
    schedule = [(1000 + i, i // 2) for i in range(11)]
    with toy_fleet(tmp_path, schedule=schedule, keep_log=True) as fleet:
        played = play(fleet, lambda _: fleet.health.exhausted)
        assert len(fleet.recv(60.0)) == 0  # returns at once: nothing will come
    assert sorted((ending.match, ending.seed) for ending in played.finished) == schedule
    assert all(ending.log.startswith(f"seed {ending.seed}") for ending in played.finished)


def test_same_seed_and_actions_give_the_same_scheduled_match(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, schedule=[(0, 5), (1, 5), (2, 5)], keep_log=True) as fleet:
        played = play(fleet, lambda _: fleet.health.exhausted)
    assert len({ending.log for ending in played.finished}) == 1


def test_schedule_shorter_than_the_fleet_starts_fewer_hosts(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, schedule=[(0, 5)]) as fleet:
        assert fleet.hosts == 1
        assert len(play(fleet, lambda _: fleet.health.exhausted).finished) == 1


def test_wrong_answers_are_the_callers_mistake(tmp_path: Path) -> None:
    wrong = [
        ([0], [3], "actions 3 to 3, expected 0 to 2"),
        ([0], [-1], "actions -1"),
        ([16], [0], "rows 16 to 16, expected 0 to 15"),
        ([-1], [0], "rows -1"),
        ([1], [0], "row 1 of host 0 does not wait for an action"),
        ([0, 1], [0], "2 rows and 1 actions"),
        ([0, 0], [0, 0], "answered twice"),
    ]
    with toy_fleet(tmp_path) as fleet:
        fleet.recv(60.0, wait_all=True)
        for row, action, message in wrong:
            with pytest.raises(ValueError, match=message):
                fleet.send(np.array(row, np.int32), np.array(action, np.int32))


def test_answers_may_come_in_any_order_and_any_parts(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, options={"game": "rps"}) as fleet:
        arrivals = fleet.recv(60.0, wait_all=True)
        for index in np.random.default_rng(1).permutation(len(arrivals)):
            fleet.send(arrivals.row[[index]], np.zeros(1, np.int32))
        assert sorted(fleet.recv(60.0, wait_all=True).row) == list(range(fleet.rows))


def test_close_ends_the_hosts_and_may_be_called_again(tmp_path: Path) -> None:
    fleet = toy_fleet(tmp_path)
    pids = fleet.pids
    fleet.close()
    fleet.close()
    assert fleet.pids == ()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_close_does_not_wait_for_rows_that_are_still_asked(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        assert len(fleet.recv(60.0)) > 0
    assert [(tmp_path / f"host-{host}.log").read_text() for host in range(2)] == ["", ""]


def test_number_of_hosts_is_the_number_of_cores_unless_given(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, FleetConfig(matches=1)) as fleet:
        assert fleet.hosts == cores()
    with HostFleet(
        game.command(game.options()), QUICK, options={}, seed=1, log_dir=tmp_path, hosts=1, matches=3
    ) as fleet:
        assert (fleet.hosts, fleet.matches, fleet.rows) == (1, 3, 6)
