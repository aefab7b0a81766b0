"""The check must not only pass good hosts: broken ones are told what they did."""

from __future__ import annotations

import sys
from itertools import islice

import pytest
from tests.faulty import game as faulty
from tests.playing import SPOILER

from ludus.errors import HostFault
from ludus.games.toy.game import command
from ludus.games.toy.options import ToyOptions
from ludus.hostcheck.advice import ADVICE
from ludus.hostcheck.check import CheckReport, Mark, RuleResult, _attempt, check, results
from ludus.hostcheck.rules import RuleChecks
from ludus.processes.command import HostCommand

CONTENTS = 5  # the first results: HELLO, and what one process is asked about


def troubles(report: CheckReport) -> list[RuleResult]:
    return [result for result in report.results if result.mark is Mark.FAILED]


@pytest.mark.parametrize(
    ("fault", "rule", "seen", "place"),
    [
        ("crash_after", "It opens its matches", "it ended with status 3", "ERROR"),
        ("garbage_after", "It opens its matches", "frame begins with b'this is '", "Rule 8"),
        ("empty_mask_after", "Every row that must choose", "has an empty mask", "Rule 9"),
        ("nan_after", "Rewards and observations", "not finite in leaf 'pile'", "Rule 9"),
    ],
)
def test_broken_host_is_told_what_it_did_and_what_to_do(fault: str, rule: str, seen: str, place: str) -> None:
    report = CheckReport(tuple(islice(results(faulty.command(), {fault: 1}, deadline_s=20.0), CONTENTS)))
    (found,) = troubles(report)
    assert found.rule.startswith(rule)
    assert seen in found.detail
    assert found.advice is not None
    assert found.advice.place == place
    assert f"failed     {found.rule}: {found.detail}" in str(report)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("latin-1", "ERROR cannot be decoded: 'utf-8' codec can't decode"),
        ("nested", "it is nested too deep"),
        ("large reward", "expected a finite number from -1e+06"),
        ("fact names", "one more than the 64 names a host may use"),
        ("hello actions", "1000000000000 actions; allowed are"),
        ("hello depth", "nested more than 32 levels deep"),
        ("hello teams", "layout.teams is"),
        ("times flood", "it sent TIMES, expected ARRIVALS"),
    ],
)
def test_host_that_sends_what_nobody_expects_is_told_so(fault: str, seen: str) -> None:
    spoiled = HostCommand((sys.executable, SPOILER, fault, "20", "--", *command(ToyOptions()).argv))
    report = CheckReport(tuple(islice(results(spoiled, {}, deadline_s=20.0), CONTENTS)))
    (found,) = troubles(report)
    assert seen in found.detail
    assert found.advice is not None


def test_host_that_floods_its_stderr_is_checked_like_any_other() -> None:
    flood = "import os, sys; [os.write(2, b'x' * 1000 + b'\\n') for _ in range(3000)]; sys.exit('out of mana')"
    checks = RuleChecks(HostCommand((sys.executable, "-c", flood)), {}, 4, 40, 1, 20.0)
    found = _attempt("", checks.greets)
    assert found.detail == "it ended with status 1; the last lines of its stderr: out of mana"


def test_a_host_may_lose_matches() -> None:
    report = CheckReport(tuple(islice(results(faulty.command(), {"match_error_after": 1}), CONTENTS)))
    assert report.ok, str(report)
    assert "lost by the host" in report.results[1].detail


WRONG_CLOCK = """
import sys
from ludus.games.toy.host import make_game
from ludus.sdk.clock import ActivityClock
from ludus.sdk.serve import serve
from ludus.wire.frames import TimesBody

right = ActivityClock.due

def wrong(self):
    times = right(self)
    return None if times is None else TimesBody({wall}, times.activities)

ActivityClock.due = wrong
sys.exit(serve(make_game))
"""


@pytest.mark.parametrize(
    ("wall", "trouble"),
    [("2 * times.wall_ns", "its activities sum to"), ("0.0", "TIMES has wall_ns 0"), ("times.wall_ns", "")],
)
def test_a_host_whose_activities_do_not_sum_to_its_time_is_told_so(wall: str, trouble: str) -> None:
    found = _attempt("times", RuleChecks(python(WRONG_CLOCK.replace("{wall}", wall)), {}, 4, 100, 1, 20.0).tells_times)
    assert found.detail.startswith(trouble)
    assert found.ok == (not trouble)


def python(program: str) -> HostCommand:
    return HostCommand((sys.executable, "-c", program))


# A host of one seat and two actions whose matches have three decisions; what is between << >> is broken by a test.
HOST = """
import sys, time, random
import numpy as np
from ludus.sdk.match import HostedGame, Turn
from ludus.sdk.serve import serve
from ludus.sdk.slots import SlotTable
from ludus.sdk.sequential import MatchesInTurn
from ludus.spec import GameSpec, ObsSpec
SPEC = GameSpec("odd", 1, 2, ObsSpec.pack({"x": ("float32", (1,))}), 1)
class Match:
    def start(self, seed):
        self.left, self.random = 3, random.Random(seed)
        return self.turn()
    def advance(self, actions):
        self.left -= 1
        return self.turn()
    def turn(self):
        over = self.left == 0
        obs = np.full((0 if over else 1, 2), self.random.random(), np.float32).view(np.uint8)
        return Turn(() if over else (0,), obs, np.ones((len(obs), 2), bool), np.zeros(1, np.float32),
                    (1.0,) if over else None)
<<broken>>
sys.exit(serve(lambda options: HostedGame(SPEC, Match)))
"""

SLOW_AND_HELD_BACK = """
def advance(self, actions, right=Match.advance):
    time.sleep(0.01)
    return right(self, actions)
Match.advance = advance
MatchesInTurn._flush_when_due = lambda self: None
"""
SLOW = SLOW_AND_HELD_BACK.replace("MatchesInTurn._flush_when_due = lambda self: None", "")
NOT_REPEATABLE = "Match.start = lambda self, seed, right=Match.start: right(self, time.time_ns())"
ENDLESS = "Match.advance = lambda self, actions: self.turn()"
OTHER_SEEDS = "import ludus.sdk.slots as table; table.match_seed = lambda seed, number: number + 1"
TALKATIVE = """
def run(self, table, channel, right=MatchesInTurn.run):
    class Twice:
        receive = channel.receive
        def send(self, frame):
            channel.send(frame + frame if frame[3] == 3 else frame)
    table._channel = Twice()
    right(self, table, channel)
MatchesInTurn.run = run
"""
STAYS = "import signal, ludus.sdk.serve as s; s._ProcessDeparture.begin = lambda self: time.sleep(60)"


@pytest.mark.parametrize(
    ("broken", "rule", "seen"),
    [
        (SLOW_AND_HELD_BACK, "sends_the_first_first", "no row ever came before the end of an answer"),
        (SLOW, "sends_the_first_first", ""),
        (NOT_REPEATABLE, "repeats", "match 0 differed"),
        (NOT_REPEATABLE, "resumes", "differed in the second process"),
        (ENDLESS, "plays", "no match ended within 2,00"),
        (OTHER_SEEDS, "plays", "has seed"),
        (TALKATIVE, "is_silent", "although all ACTIONS were answered"),
        (STAYS, "stops_when_told", "it was still running after"),
        (STAYS, "stops_with_its_stdin", "it was still running after"),
        ("", "refuses_unknown_options", "it accepted an unknown option"),
        ("", "speed", ""),
    ],
)
def test_each_rule_is_seen_to_be_broken(broken: str, rule: str, seen: str) -> None:
    deadline_s = 3.0 if broken == STAYS else 20.0
    checks = RuleChecks(python(HOST.replace("<<broken>>", broken)), {}, 4, 40, 1, deadline_s)
    found = _attempt(rule, getattr(checks, rule))
    assert seen in found.detail, found.detail
    assert found.ok == (not seen)
    assert found.ok or found.advice is not None


@pytest.mark.parametrize(
    ("program", "seen", "place"),
    [
        ((sys.executable, "-c", "print('hello')"), r"is text, and belongs on stderr", "Rule 8"),
        (("no-such-program-anywhere",), "cannot start no-such-program-anywhere: No such file", "A conversation"),
        (
            ("sh", "-c", "echo no licence >&2; exit 4"),
            "it ended with status 4; the last lines of its stderr: no licence",
            "ERROR",
        ),
        (("sleep", "60"), "it sent nothing for 0.5 s", "Rule 2"),
    ],
)
def test_program_that_is_no_host_is_told_so_and_nothing_else_is_tried(
    program: tuple[str, ...], seen: str, place: str
) -> None:
    report = check(HostCommand(program), deadline_s=0.5 if program[0] == "sleep" else 20.0)
    (found,) = troubles(report)
    assert seen in found.detail
    assert found.advice is not None
    assert found.advice.place == place
    assert [result.mark for result in report.results[1:]] == [Mark.UNTRIED] * (len(report.results) - 1)


def test_every_fault_has_advice() -> None:
    assert set(HostFault) - ADVICE.keys() == {HostFault.OTHER}
