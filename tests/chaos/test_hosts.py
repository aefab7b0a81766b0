"""Hosts that die, freeze, talk nonsense or never start; parents that die. Each costs its own matches, nothing else."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.playing import (
    PATIENCE_S,
    QUICK,
    SPOILER,
    both_finished,
    faulty_fleet,
    first_host_spoiled,
    first_legal,
    host_of,
    is_still_there,
    play,
    toy_fleet,
    voided,
    wait_until_gone,
)

from ludus import limits
from ludus.config.settings import FleetConfig
from ludus.errors import FleetError, HostRefused
from ludus.fleet.fleet import HostFleet
from ludus.fleet.hostlog import FILE_BYTES
from ludus.games.toy.game import command
from ludus.games.toy.options import ToyOptions
from ludus.processes.command import HostCommand

SOON = FleetConfig(hosts=2, matches=4, backoff_s=0.01, reply_deadline_s=2.0)

PARENT = """
import json, os, signal, sys
from pathlib import Path
from tests.playing import play, toy_fleet

with toy_fleet(Path(sys.argv[1])) as fleet:
    play(fleet, lambda played: len(played.rows) > 20)
    if sys.argv[2] == "freeze":
        os.kill(fleet.pids[0], signal.SIGSTOP)
    print(json.dumps(fleet.pids), flush=True)
    play(fleet, lambda played: False, patience_s=600)
"""


def test_killed_host_voids_only_its_own_matches(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        play(fleet, both_finished(fleet))
        os.kill(fleet.pids[0], signal.SIGKILL)
        played = play(fleet, lambda played: bool(played.voided))
        assert {ending.void for ending in played.voided} == {"died"}
        assert {host_of(fleet, int(row)) for ending in played.voided for row in ending.rows} == {0}
        assert 0 < len(played.voided) <= 4  # one that ended with the host's last words is not voided
        assert voided(fleet) == {"died": len(played.voided)}
        play(fleet, both_finished(fleet))
        assert fleet.health.restarts == 1
        assert fleet.health.alive == 2


def test_frozen_host_is_replaced_and_the_others_go_on_meanwhile(tmp_path: Path) -> None:
    with toy_fleet(tmp_path, SOON) as fleet:
        play(fleet, both_finished(fleet))
        frozen = fleet.pids[0]
        os.kill(frozen, signal.SIGSTOP)
        played = play(fleet, lambda played: bool(played.voided))
        assert {ending.void for ending in played.voided} == {"hung"}
        assert {host_of(fleet, int(row)) for ending in played.voided for row in ending.rows} == {0}
        assert sum(host_of(fleet, row) == 1 for row in played.rows) > 50
        wait_until_gone([frozen])
        play(fleet, both_finished(fleet))


def test_host_that_owes_nothing_may_be_silent_for_ever(tmp_path: Path) -> None:
    config = FleetConfig(hosts=1, matches=2, reply_deadline_s=0.5)
    with toy_fleet(tmp_path, config) as fleet:
        arrivals = fleet.recv(30.0, wait_all=True)
        assert len(fleet.recv(1.5)) == 0
        assert fleet.health.restarts == 0
        fleet.send(arrivals.row, first_legal(arrivals))
        assert len(fleet.recv(30.0)) > 0


def test_answer_that_waits_in_the_pipe_is_not_silence(tmp_path: Path) -> None:
    """A caller that was away longer than the deadline must not take it out on the host."""
    config = FleetConfig(hosts=1, matches=2, reply_deadline_s=0.8)
    with toy_fleet(tmp_path, config) as fleet:
        arrivals = fleet.recv(30.0, wait_all=True)
        fleet.send(arrivals.row, first_legal(arrivals))
        assert is_still_there(fleet.pids[0], for_s=1.0)  # the caller is busy elsewhere
        assert len(fleet.recv(0.0)) > 0
        assert fleet.health.restarts == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash_after", "died"),
        ("half_frame_after", "died"),
        ("hang_after", "hung"),
        ("garbage_after", "protocol"),
        ("huge_length_after", "protocol"),
        ("nan_after", "protocol"),
        ("empty_mask_after", "protocol"),
        ("flood_after", "protocol"),
    ],
)
def test_fault_of_one_host_is_counted_and_recovered(
    tmp_path: Path, fault: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with faulty_fleet(tmp_path, SOON, {fault: 40, "fault_marker": str(tmp_path / "marker")}) as fleet:
        played = play(fleet, lambda played: fleet.health.restarts == 1)
        assert set(voided(fleet)) == {reason}
        assert len({host_of(fleet, int(row)) for ending in played.voided for row in ending.rows}) <= 1
        play(fleet, both_finished(fleet))
        assert fleet.health.restarts == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "again in 0.01 s" in caplog.text


@pytest.mark.parametrize(
    ("fault", "reason", "words"),
    [
        ("latin-1", "protocol", "ERROR cannot be decoded: 'utf-8' codec"),
        ("nested", "protocol", "ERROR cannot be decoded: it is nested too deep"),
        ("large reward", "protocol", r"has a reward of 1e\+30, expected a finite number from -1e\+06"),
        ("fact names", "protocol", "one more than the 64 names a host may use"),
        ("chatter", "hung", "sent no row, ending or completed answer for 2 s"),
        ("times flood", "protocol", "more than (64 TIMES|65,536) frames came"),
        ("trickle", "hung", "sent no row, ending or completed answer for 2 s"),
    ],
)
def test_whatever_a_host_sends_costs_only_its_own_matches(
    tmp_path: Path, fault: str, reason: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = first_host_spoiled(fault, tmp_path / "marker")
    with toy_fleet(tmp_path, SOON, hosts=hosts) as fleet:
        played = play(fleet, lambda played: fleet.health.restarts == 1)
        assert set(voided(fleet)) == {reason}
        assert {host_of(fleet, int(row)) for ending in played.voided for row in ending.rows} == {0}
        play(fleet, both_finished(fleet))
        assert (fleet.health.restarts, fleet.health.alive) == (1, 2)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert re.search(words, caplog.text)
    assert len(caplog.text) < 5000


def test_long_words_of_a_host_are_shortened_in_reason_and_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with toy_fleet(tmp_path, SOON, hosts=first_host_spoiled("long error", tmp_path / "marker")) as fleet:
        play(fleet, lambda played: fleet.health.restarts == 1)
        assert [len(reason) for reason in voided(fleet)] == [200]
    assert len(caplog.text) < 5000


@pytest.mark.parametrize("fault", ["chatter", "trickle"])
def test_a_save_does_not_wait_for_a_host_that_talks_and_never_answers(tmp_path: Path, fault: str) -> None:
    config = FleetConfig(hosts=2, matches=4, backoff_s=0.01, reply_deadline_s=600.0)
    with toy_fleet(tmp_path, config, hosts=first_host_spoiled(fault, tmp_path / "marker")) as fleet:
        end_s = time.monotonic() + PATIENCE_S
        silent_since_s = time.monotonic()
        while time.monotonic() - silent_since_s < 1.0:  # until the first host is silent, while the second plays on
            assert time.monotonic() < end_s
            arrivals = fleet.recv(1.0)
            if any(host_of(fleet, int(row)) == 0 for row in arrivals.row):
                silent_since_s = time.monotonic()
            fleet.send(arrivals.row, first_legal(arrivals))
        began_s = time.monotonic()
        state = fleet.saved_state(within_s=0.5)
        assert time.monotonic() - began_s < 10.0
        assert [host.runs for host in state.hosts] == [0, 4]
        play(fleet, both_finished(fleet))
        assert set(voided(fleet)) == {"hung"}


def test_host_that_reads_nothing_is_stopped_before_much_is_kept_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNREAD_BYTES", 100_000)
    with toy_fleet(tmp_path, FleetConfig(hosts=1, matches=2, backoff_s=0.01)) as fleet:
        arrivals = fleet.recv(30.0, wait_all=True)
        os.kill(fleet.pids[0], signal.SIGSTOP)
        fleet.send(arrivals.row, first_legal(arrivals))
        for _ in range(20_000):
            fleet.nudge()
        assert play(fleet, lambda played: bool(played.finished)).finished
        assert set(voided(fleet)) == {"hung"}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("hello actions", "2 seats and 1000000000000 actions; allowed are 4,096 and 1,048,576"),
        ("hello seats", "1000000000 seats"),
        ("hello rows", "shape .1000000, 1000000., allowed are 33,554,432 items"),
        ("hello leaves", "100,000 observation leaves, allowed are 1,024"),
        ("hello teams", "layout.teams is"),
        ("hello table", "table 't' the shape"),
        ("hello depth", "layout of HELLO is nested more than 32 levels deep"),
    ],
)
def test_hello_beyond_the_limits_is_refused_before_memory_is_taken(tmp_path: Path, fault: str, words: str) -> None:
    with pytest.raises(FleetError, match=f"broke the protocol: .*{words}"):
        toy_fleet(tmp_path, FleetConfig(hosts=1), hosts=first_host_spoiled(fault, tmp_path / "marker"))


def test_host_that_refuses_after_a_restart_has_failed_like_any_other(tmp_path: Path) -> None:
    """A server that is away for a moment: its host cannot connect, and says that its configuration cannot be played."""
    marker = tmp_path / "marker"
    marker.mkdir()
    with toy_fleet(tmp_path, SOON, hosts=first_host_spoiled("refuse", marker)) as fleet:
        play(fleet, both_finished(fleet))
        marker.rmdir()
        os.kill(fleet.pids[0], signal.SIGKILL)
        play(fleet, lambda played: fleet.health.restarts == 2)
        play(fleet, both_finished(fleet))
        assert (fleet.health.alive, set(voided(fleet))) == (2, {"died"})


def test_host_that_refuses_what_another_plays_is_started_again(tmp_path: Path) -> None:
    host = shlex.join(command(ToyOptions()).argv)
    refuses = f"{shlex.join((sys.executable, SPOILER, 'refuse', '0', '--'))} {host}"
    waits = f"while [ ! -s {tmp_path / 'host-1.log'} ]; do sleep 0.05; done"  # until the other has begun
    script = f"""
        if [ "$LUDUS_HOST" = 0 ] && mkdir {tmp_path / "marker"} 2>/dev/null; then
            {waits}; sleep 1; exec {refuses}
        fi
        echo begun >&2; exec {host}"""
    with toy_fleet(tmp_path, SOON, hosts=HostCommand(("sh", "-c", script))) as fleet:
        assert fleet.health.restarts == 1
        play(fleet, both_finished(fleet))


def test_host_that_floods_its_stderr_plays_on_and_its_log_stays_small(tmp_path: Path) -> None:
    host = shlex.join(command(ToyOptions()).argv)
    flood = f'if [ "$LUDUS_HOST" = 0 ]; then yes "this is no news" >&2 & fi; exec {host}'
    with toy_fleet(tmp_path, SOON, hosts=HostCommand(("sh", "-c", flood))) as fleet:
        end_s = time.monotonic() + 2.0
        play(fleet, lambda played: time.monotonic() > end_s)
        play(fleet, both_finished(fleet))
        assert fleet.health.restarts == 0
    sizes = [path.stat().st_size for path in tmp_path.glob("host-0.log*")]
    assert 1_000_000 < sum(sizes) <= 2 * FILE_BYTES


def test_match_that_fails_is_voided_alone(tmp_path: Path) -> None:
    with faulty_fleet(tmp_path, FleetConfig(hosts=1, matches=4), {"game": "rps", "match_error_after": 10}) as fleet:
        played = play(fleet, lambda played: len(played.voided) >= 4)
        assert {ending.void for ending in played.voided} == {"host: RuntimeError: this match was told to fail"}
        assert fleet.health.restarts == 0
        play(fleet, lambda played: len(played.finished) >= 8)
        assert voided(fleet) == {"host: RuntimeError: this match was told to fail": 4}


def test_refused_configuration_is_raised_in_the_hosts_words_without_a_restart(tmp_path: Path) -> None:
    with pytest.raises(HostRefused, match=r"toy options: .*'chess'"):
        toy_fleet(tmp_path, options={"game": "chess"})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("a-program-that-is-nowhere",), "exited with status 127 before HELLO.*cannot start a-program-that-is-nowhere"),
        (("echo", "Hello, this is no frame"), "broke the protocol: frame begins with b'Hello, t'"),
        (("sleep", "600"), r"did not say HELLO within 2 s"),
        (("sh", "-c", "echo it is broken >&2; kill -SEGV $$"), "was ended by SIGSEGV before HELLO.*it is broken"),
    ],
)
def test_host_that_cannot_start_stops_the_fleet_with_the_reason(
    tmp_path: Path, argv: tuple[str, ...], message: str
) -> None:
    with pytest.raises(FleetError, match=message):
        HostFleet(HostCommand(argv), FleetConfig(hosts=1, hello_deadline_s=2.0), options={}, seed=1, log_dir=tmp_path)


def test_host_may_write_any_amount_to_its_stderr(tmp_path: Path) -> None:
    talker = f"head -c 3000000 /dev/zero >&2; exec {sys.executable} -m ludus.games.toy.host"
    with HostFleet(HostCommand(("sh", "-c", talker)), QUICK, options={}, seed=1, log_dir=tmp_path) as fleet:
        play(fleet, both_finished(fleet))
    assert (tmp_path / "host-0.log").stat().st_size >= 3_000_000


def test_close_ends_a_frozen_host_too(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        pids = fleet.pids
        os.kill(pids[0], signal.SIGSTOP)
        began_s = time.monotonic()
    wait_until_gone(pids)
    assert time.monotonic() - began_s < 20


@pytest.mark.parametrize("state", ["freeze", "run"])
def test_parent_killed_with_9_leaves_no_orphan(tmp_path: Path, state: str) -> None:
    with _parent(tmp_path, state) as parent:
        pids = _pids(parent)
        parent.kill()
        parent.wait()
        wait_until_gone(pids)
    assert len(pids) == 2


def test_ctrl_c_reaches_the_parent_only_and_it_takes_the_hosts_with_it(tmp_path: Path) -> None:
    with _parent(tmp_path, "run") as parent:
        pids = _pids(parent)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.wait(60) != 0
        wait_until_gone(pids)
    assert [(tmp_path / f"host-{host}.log").read_text() for host in range(2)] == ["", ""]


def test_late_answers_for_a_lost_host_are_dropped(tmp_path: Path) -> None:
    """A caller whose policy was still thinking when the host died."""
    with toy_fleet(tmp_path, FleetConfig(hosts=1, matches=4, backoff_s=0.01)) as fleet:
        held = fleet.recv(30.0, wait_all=True)
        os.kill(fleet.pids[0], signal.SIGKILL)
        lost = fleet.recv(30.0)
        assert {ending.void for ending in lost.endings} == {"died"}
        fleet.send(held.row, first_legal(held))
        with pytest.raises(ValueError, match="does not wait for an action"):
            fleet.send(held.row, first_legal(held))
        assert play(fleet, lambda played: bool(played.finished)).finished


def test_matches_keep_distinct_ids_across_hosts_and_restarts(tmp_path: Path) -> None:
    with toy_fleet(tmp_path) as fleet:
        before = play(fleet, both_finished(fleet))
        for pid in fleet.pids:
            os.kill(pid, signal.SIGKILL)
        after = play(fleet, lambda played: fleet.health.restarts == 2 and len(played.finished) > 20)
    ids = [ending.match for ending in [*before.endings, *after.endings]]
    assert len(ids) == len(set(ids))


def _parent(tmp_path: Path, state: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), state],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )


def _pids(parent: subprocess.Popen[bytes]) -> list[int]:
    assert parent.stdout is not None
    pids = json.loads(parent.stdout.readline())
    assert np.all([os.path.exists(f"/proc/{pid}") for pid in pids])
    return list(pids)
