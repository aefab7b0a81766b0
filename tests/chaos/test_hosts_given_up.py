"""Hosts that fail again and again are given up; others take over their scheduled matches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.playing import faulty_fleet, first_host_dies, host_of, play, toy_fleet

from ludus.config.settings import FleetConfig
from ludus.errors import FleetError
from ludus.processes.command import HostCommand


def test_host_that_fails_again_and_again_is_given_up_with_its_reason_and_log(tmp_path: Path) -> None:
    config = FleetConfig(hosts=2, matches=4, backoff_s=0.01, failures_in_a_row=2)
    with (
        faulty_fleet(tmp_path, config, {"crash_after": 1}) as fleet,
        pytest.raises(FleetError, match=r"no host is left") as raised,
    ):
        play(fleet, lambda played: False)
    for host in range(2):
        assert f"host {host} exited with status 3 (log: {tmp_path / f'host-{host}.log'})" in str(raised.value)


@pytest.mark.parametrize("greets", [True, False])
def test_scheduled_matches_of_a_host_given_up_are_played_by_the_others(tmp_path: Path, greets: bool) -> None:
    config = FleetConfig(hosts=3, matches=2, backoff_s=0.01, failures_in_a_row=2)
    schedule = [(100 + number, number) for number in range(21)]
    with toy_fleet(tmp_path, config, schedule=schedule, hosts=first_host_dies(greets=greets)) as fleet:
        played = play(fleet, lambda played: len(played.finished) == len(schedule))
        assert sorted((ending.match, ending.seed) for ending in played.finished) == schedule
        assert {host_of(fleet, int(ending.rows[0])) for ending in played.finished} == {1, 2}
        assert fleet.health.moved == tuple(number for number, _ in schedule[::3])
        assert (fleet.health.given_up, fleet.health.alive, fleet.health.exhausted) == (1, 2, True)


TAKES_OVER_IN_VAIN = """
if [ "$LUDUS_HOST" != 0 ] && [ -e began.$LUDUS_HOST ]; then
    mkdir doomed 2>/dev/null && echo $LUDUS_HOST > doomed/host
    [ "$(cat doomed/host)" = "$LUDUS_HOST" ] && exit 3
fi
touch began.$LUDUS_HOST
"""


def test_matches_move_on_when_the_host_that_took_them_over_is_given_up_too(tmp_path: Path) -> None:
    config = FleetConfig(hosts=3, matches=2, backoff_s=0.01, failures_in_a_row=2)
    schedule = [(100 + number, number) for number in range(21)]
    shell, option, script = first_host_dies(greets=False).argv
    hosts = HostCommand((shell, option, TAKES_OVER_IN_VAIN + script), cwd=tmp_path)
    with toy_fleet(tmp_path, config, schedule=schedule, hosts=hosts) as fleet:
        played = play(fleet, lambda played: len(played.finished) == len(schedule))
        assert sorted((ending.match, ending.seed) for ending in played.finished) == schedule
        assert fleet.health.moved == tuple(number for number, _ in schedule[::3])
        assert (fleet.health.given_up, fleet.health.alive) == (2, 1)


def test_scheduled_matches_that_no_host_is_left_for_are_counted(tmp_path: Path) -> None:
    config = FleetConfig(hosts=2, matches=2, backoff_s=0.01, failures_in_a_row=1)
    schedule = [(number, 7) for number in range(20)]
    with (
        faulty_fleet(tmp_path, config, {"crash_after": 1}, schedule=schedule) as fleet,
        pytest.raises(FleetError, match="no host is left to play on, 20 scheduled matches cannot be played: host 0"),
    ):
        play(fleet, lambda played: False)


def test_restarted_host_plays_what_is_left_of_its_schedule(tmp_path: Path) -> None:
    schedule = [(100 + number, number) for number in range(40)]
    options = {"crash_after": 60, "fault_marker": str(tmp_path / "marker")}
    with faulty_fleet(tmp_path, options=options, schedule=schedule) as fleet:
        played = play(fleet, lambda _: fleet.health.exhausted)
        rest = fleet.recv(0.0)
        finished = [*played.finished, *(ending for ending in rest.endings if not ending.void)]
        assert fleet.health.restarts == 1
    assert sorted((ending.match, ending.seed) for ending in finished) == schedule
