"""The check must not only pass good hosts: broken ones are told what they did."""

from __future__ import annotations

import sys

import pytest

from ludus.games.toy.game import command
from ludus.games.toy.options import ToyOptions
from ludus.hosting.check import Report, _Trial, _tried, check
from ludus.hosting.command import HostCommand


def troubles(report: Report) -> list[str]:
    return [finding.trouble for finding in report.findings if not finding.kept]


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        ("crash_after", "it ended with status 3"),
        ("garbage_after", "frame begins with b'this is '"),
        ("empty_mask_after", "has an empty mask"),
        ("nan_after", "not finite in leaf 'pile'"),
    ],
)
def test_broken_host_is_told_what_it_did(fault: str, trouble: str) -> None:
    report = check(command(ToyOptions()), {fault: 1}, deadline_s=20.0)
    assert not report.ok
    assert trouble in troubles(report)[0]
    assert f"BAD  It says HELLO, plays and keeps the protocol: {troubles(report)[0]}" in str(report)


WRONG_CLOCK = """
import sys
from ludus.games.toy.host import make_game
from ludus.hosting.clock import StageClock
from ludus.hosting.serve import serve
from ludus.wire.frames import TimesBody

right = StageClock.due

def wrong(self):
    times = right(self)
    return None if times is None else TimesBody({wall}, times.stages)

StageClock.due = wrong
sys.exit(serve(make_game))
"""


@pytest.mark.parametrize(
    ("wall", "trouble"),
    [("2 * times.wall_ns", "its stages sum to"), ("0.0", "TIMES is of 0 ns"), ("times.wall_ns", "")],
)
def test_a_host_whose_stages_do_not_sum_to_its_time_is_told_so(wall: str, trouble: str) -> None:
    command = HostCommand((sys.executable, "-c", WRONG_CLOCK.replace("{wall}", wall)))
    found = _tried(_Trial(command, {}, 4, 100, 1, 20.0).tells_times)
    assert found.startswith(trouble)
    assert bool(found) == bool(trouble)


def test_program_that_is_no_host_fails_every_rule() -> None:
    report = check(HostCommand((sys.executable, "-c", "print('hello')")), deadline_s=20.0)
    assert len(troubles(report)) == len(report.findings)


def test_host_that_never_answers_is_given_up_after_the_deadline() -> None:
    report = check(HostCommand(("sleep", "60")), deadline_s=0.1)
    assert "it sent nothing for 0.1 s" in troubles(report)[0]
