"""The main loop of a Python host, over memory: what it says to a fleet that behaves, and to one that does not."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from tests import hosted
from tests.hosted import Fleet

from ludus.errors import ConfigError
from ludus.sdk.match import HostedGame, Match, Turn
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import bodies, frames
from ludus.wire.frames import FrameKind
from ludus.wire.seeds import match_seed

SPEC = GameSpec("race", 2, 2, ObsSpec.pack({"turn": ("float32", (1,))}), 1)


class Race:
    """Both seats move at once for two turns and earn what they choose; a seed divisible by 5 is a broken match."""

    def start(self, seed: int) -> Turn:
        if seed % 5 == 0:
            raise RuntimeError(f"cannot play seed {seed}")
        self._turn = 0
        return self._ask([0.0, 0.0])

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._turn += 1
        reward = [float(actions[0]), float(actions[1])]
        if self._turn == 2:
            return Turn(
                (), _obs(0, 0), _legal(0), np.array(reward, np.float32), (1.0, 0.0), facts={"turns": 2.0}, log="x"
            )
        return self._ask(reward)

    def _ask(self, reward: list[float]) -> Turn:
        return Turn((0, 1), _obs(2, self._turn), _legal(2), np.array(reward, np.float32))


def _obs(n: int, turn: float) -> np.ndarray[Any, np.dtype[np.uint8]]:  # Any: the shape
    rows = np.zeros((n, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(rows, "turn")[:] = turn
    return rows


def _legal(n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:  # Any: the shape
    return np.ones((n, SPEC.actions), np.bool_)


def make(options: Mapping[str, Any]) -> HostedGame:
    if options:
        raise ConfigError(f"unknown option {next(iter(options))!r}")
    return HostedGame(SPEC, Race, {"version": "3"})


def served(expected_status: int = 0) -> AbstractContextManager[Fleet]:
    return hosted.served(make, SPEC, expected_status)


def test_host_greets_opens_and_plays_to_the_end() -> None:
    with served() as fleet:
        fleet.configure(schedule=[(7, 11)], keep_log=True)
        hello = frames.decode_hello(fleet.next(FrameKind.HELLO))
        assert hello.spec().fingerprint == SPEC.fingerprint
        assert hello.facts == {"version": "3"}
        opening = fleet.arrivals()
        assert (opening.row.tolist(), opening.match.tolist(), opening.opens.tolist()) == ([0, 1], [7, 7], [1, 1])
        assert opening.done
        fleet.act([0, 1], [1, 0])
        second = fleet.arrivals()
        assert (second.reward.tolist(), second.opens.tolist()) == ([1.0, 0.0], [0, 0])
        assert SPEC.obs.leaf(second.obs, "turn")[:, 0].tolist() == [1.0, 1.0]
        assert second.done
        fleet.act([0, 1], [0, 1])
        ending = fleet.ending()
        assert (ending.number, ending.seed, ending.score, ending.reward) == (7, 11, [1.0, 0.0], [0.0, 1.0])
        assert (ending.facts, ending.log) == ({"turns": 2.0}, "x")
        last = fleet.arrivals()
        assert (len(last.row), last.done) == (0, True)


def test_a_host_that_is_asked_says_where_its_time_went_before_the_answer_is_complete() -> None:
    with served() as fleet:
        fleet.configure(times_s=1e-9)
        fleet.next(FrameKind.HELLO)
        for round_ in range(2):
            times = frames.decode_times(fleet.next(FrameKind.TIMES))
            assert fleet.arrivals().done
            assert sum(found.total_ns for found in times.activities.values()) == times.wall_ns
            assert times.activities["simulate"].passes == 1
            assert ("wait" in times.activities) == (round_ > 0)
            fleet.act([0, 1], [1, 0])


def test_a_resumed_host_opens_the_given_matches_and_numbers_go_on() -> None:
    with served() as fleet:
        fleet.configure(matches=3, resume=bodies.Resumption([4, None, 2], 6))
        fleet.next(FrameKind.HELLO)
        assert fleet.arrivals().match.tolist() == [4, 4, 6, 6, 2, 2]
        for _ in range(2):
            fleet.act([0, 1], [0, 0])
            last = fleet.next(FrameKind.ENDING) if _ else fleet.arrivals()
        assert not isinstance(last, bodies.ArrivalsBody)
        ending = frames.decode_ending(last, SPEC.seats, SPEC.obs.nbytes)[0]
        assert (ending.number, ending.seed) == (4, match_seed(1, 4))
        assert fleet.arrivals().match.tolist() == [7, 7]


def test_a_drained_host_ends_its_matches_and_begins_no_others() -> None:
    with served() as fleet:
        fleet.configure(matches=2)
        assert frames.decode_hello(fleet.next(FrameKind.HELLO)).drains
        assert fleet.arrivals().row.tolist() == [0, 1, 2, 3]
        fleet.channel.send(frames.encode_drain())
        fleet.act([0, 1, 2, 3], [0, 0, 0, 0])
        assert fleet.arrivals().row.tolist() == [0, 1, 2, 3]
        fleet.act([0, 1], [0, 0])
        assert fleet.ending().number == 0
        assert (fleet.arrivals().row.tolist()) == []
        fleet.act([2, 3], [0, 0])
        assert fleet.ending().number == 1
        last = fleet.arrivals()
        assert (len(last.row), last.done) == (0, True)


@pytest.mark.parametrize("asked", [True, False])
def test_events_are_sent_after_hello_if_the_fleet_asked_for_them(asked: bool) -> None:
    game = HostedGame(SPEC, Race, events=lambda send: send({"event": "ready"}))
    with hosted.served(lambda _: game, SPEC) as fleet:
        fleet.configure(events=asked)
        fleet.next(FrameKind.HELLO)
        if asked:
            assert frames.decode_event(fleet.next(FrameKind.EVENT)) == {"event": "ready"}
        assert fleet.arrivals().done


def test_half_of_a_decision_is_answered_with_an_empty_frame() -> None:
    with served() as fleet:
        fleet.configure(schedule=[(0, 1)])
        fleet.next(FrameKind.HELLO)
        while not fleet.arrivals().done:
            pass
        fleet.act([1], [0])
        waiting = fleet.arrivals()
        assert (len(waiting.row), waiting.done) == (0, True)
        fleet.act([0], [0])
        assert fleet.arrivals().row.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parts", "sizes"), [(1, [(8, True)]), (2, [(4, False), (4, True)]), (3, [(4, False), (4, True)])]
)
def test_an_answer_comes_in_the_parts_that_were_asked_for(parts: int, sizes: list[tuple[int, bool]]) -> None:
    with served() as fleet:
        fleet.configure(4, schedule=[(number, 1) for number in range(4)], parts=parts)
        fleet.next(FrameKind.HELLO)
        assert [(len(came.row), came.done) for came in (fleet.arrivals() for _ in sizes)] == sizes


def test_seeds_are_derived_from_the_hosts_seed_unless_scheduled() -> None:
    with served() as fleet:
        fleet.configure()
        fleet.next(FrameKind.HELLO)
        lost = match_seed(1, 0) % 5 == 0
        number = int(fleet.arrivals().match[0])
        fleet.act([0, 1], [0, 0])
        fleet.arrivals()
        fleet.act([0, 1], [0, 0])
        assert fleet.ending().seed == match_seed(1, number)
        assert number == int(lost)


def test_match_that_cannot_start_is_reported_and_the_next_one_opens(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as fleet:
        fleet.configure(schedule=[(0, 5), (1, 1)])
        fleet.next(FrameKind.HELLO)
        error = fleet.error()
        assert (error.kind, error.slot, error.number) == ("match", 0, 0)
        assert error.message == "RuntimeError: cannot play seed 5"
        assert fleet.arrivals().match.tolist() == [1, 1]
    assert "Traceback" in capsys.readouterr().err


def test_refused_options_are_reported_in_the_games_words() -> None:
    with served(expected_status=2) as fleet:
        fleet.configure(options={"color": "red"})
        error = fleet.error()
        assert (error.kind, error.message) == ("configuration", "unknown option 'color'")


@pytest.mark.parametrize(
    ("rows", "actions", "message"),
    [
        ([2], [0], "row 2, which was not asked"),
        ([-1], [0], "row -1, which was not asked"),
        ([0, 0], [0, 0], "row 0, which was not asked"),
        ([0], [2], "action 2 for row 0 is not legal"),
        ([0], [-1], "action -1 for row 0 is not legal"),
    ],
)
def test_actions_that_cannot_be_end_the_host(
    rows: list[int], actions: list[int], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(expected_status=1) as fleet:
        fleet.configure(schedule=[(0, 1)])
        fleet.next(FrameKind.HELLO)
        while not fleet.arrivals().done:
            pass
        fleet.act(rows, actions)
        error = fleet.error()
        assert error.kind == "internal"
        assert message in error.message
    assert "ProtocolError" in capsys.readouterr().err


@pytest.mark.parametrize("frame", [frames.encode_actions(np.zeros(0, np.int32), np.zeros(0, np.int32)), b"garbage!"])
def test_first_frame_must_be_configure(frame: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with served(expected_status=1) as fleet:
        fleet.channel.send(frame)
        assert fleet.error().kind == "internal"
    assert "ProtocolError" in capsys.readouterr().err


def test_stop_before_configure_is_a_clean_end() -> None:
    with served() as fleet:
        fleet.channel.send(frames.encode_stop())


GOOD = Turn((0, 1), _obs(2, 0), _legal(2), np.zeros(2, np.float32))
NAN = np.full(2, np.nan, np.float32)
OVER = Turn((), _obs(0, 0), _legal(0), np.zeros(2, np.float32), (1.0, 0.0))


class Odd:
    """Its first turn, or the one after, is what a test wants; from the second match on all is well."""

    def __init__(self, start: object, advance: object = OVER) -> None:
        self._turns = [start, advance]

    def start(self, seed: int) -> Any:  # Any: not always a Turn
        return self._turns.pop(0) if self._turns else GOOD

    def advance(self, actions: Mapping[int, int]) -> Any:
        return self._turns.pop(0) if self._turns else OVER


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (None, "a match returned NoneType, expected a Turn"),
        (OVER, "over before any seat had to choose"),
        (replace(GOOD, seats=()), "no seat must choose and there is no score"),
        (replace(GOOD, seats=(0, 0)), "seats are (0, 0)"),
        (replace(GOOD, seats=(0, 2)), "seats are (0, 2)"),
        (replace(GOOD, obs=np.zeros((2, 9), np.uint8)), "obs is uint8 [2, 9], expected uint8 [2, 8]"),
        (replace(GOOD, obs=np.zeros((2, 8), np.float32)), "obs is float32 [2, 8], expected uint8 [2, 8]"),
        (replace(GOOD, legal=_legal(1)), "legal is bool [1, 2], expected bool [2, 2]"),
        (replace(GOOD, legal=np.zeros((2, 2), np.bool_)), "no action is legal"),
        (replace(GOOD, reward=cast(Any, [0.0, 0.0])), "reward is list, expected an array"),
        (replace(GOOD, reward=NAN), "a reward is nan"),
        (replace(GOOD, reward=np.full(2, -2e6, np.float32)), "a reward is -2000000.0, expected finite numbers from"),
        (replace(GOOD, obs=_obs(2, float("inf"))), "not finite in leaf 'turn'"),
    ],
)
def test_a_turn_that_cannot_be_loses_one_match_and_says_why(
    turn: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[Match] = [Race(), Odd(turn, GOOD)]
    with hosted.served(lambda _: HostedGame(SPEC, given.pop), SPEC) as fleet:
        fleet.configure(2, schedule=[(0, 1), (1, 1), (2, 1)])
        fleet.next(FrameKind.HELLO)
        error = fleet.error()
        assert (error.kind, error.slot, error.number) == ("match", 0, 0)
        assert words in error.message
        came = fleet.arrivals()
        assert (sorted(came.row.tolist()), set(came.match.tolist()), came.done) == ([0, 1, 2, 3], {1, 2}, True)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (replace(OVER, score=(1.0,)), "score is (1.0,), expected 2"),
        (replace(OVER, score=(2.0, -1.0)), "score is (2.0, -1.0)"),
        (replace(OVER, reward=NAN), "rewards are [nan, nan]"),
        (replace(OVER, facts={"turns": float("inf")}), "facts hold {'turns': inf}"),
        (replace(OVER, reward=np.full(2, 1e30, np.float32)), "scale the rewards of the game"),
        (replace(OVER, facts={"turns\n": 1.0}), "a fact is named 'turns\\n', expected 1 to 64 printable characters"),
        (replace(OVER, facts=cast(Any, {"turns": "two"})), "TypeError"),
        (replace(OVER, truncated=True), "obs is uint8 [0, 8], expected uint8 [2, 8]"),
        (replace(OVER, truncated=True, obs=_obs(2, float("nan"))), "the last observation has a value that is not"),
    ],
)
def test_an_ending_that_cannot_be_loses_one_match_and_says_why(
    turn: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with hosted.served(lambda _: HostedGame(SPEC, lambda: Odd(GOOD, turn)), SPEC) as fleet:
        fleet.configure(schedule=[(0, 1), (1, 1)])
        fleet.next(FrameKind.HELLO)
        fleet.arrivals()
        fleet.act([0, 1], [0, 0])
        assert words in fleet.error().message
        assert fleet.arrivals().match.tolist() == [1, 1]
    assert words in capsys.readouterr().err


def test_rows_that_do_not_fit_one_frame_come_in_several_and_a_match_that_does_not_is_refused() -> None:
    large = GameSpec("large", 1, 2, ObsSpec.pack({"map": ("uint8", (frames.MAX_BODY // 3,))}), 1)
    turn = Turn((0,), np.zeros((1, large.obs.nbytes), np.uint8), _legal(1), np.zeros(1, np.float32))
    with hosted.served(lambda _: HostedGame(large, lambda: Odd(turn)), large) as fleet:
        fleet.configure(3)
        fleet.next(FrameKind.HELLO)
        assert [(len(came.row), came.done) for came in (fleet.arrivals(), fleet.arrivals())] == [(2, False), (1, True)]
    huge = replace(large, obs=ObsSpec.pack({"map": ("uint8", (frames.MAX_BODY,))}))
    with hosted.served(lambda _: HostedGame(huge, lambda: Odd(turn)), huge, expected_status=2) as fleet:
        fleet.configure()
        error = fleet.error()
        assert error.kind == "configuration"
        assert "1 observations of 67,108,864 bytes for one match of large do not fit" in error.message


def test_matches_are_closed_when_the_host_stops_and_a_fault_there_is_only_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    closed: list[int] = []

    class Closing(Race):
        def close(self) -> None:
            closed.append(1)
            raise RuntimeError("cannot close")

    with hosted.served(lambda _: HostedGame(SPEC, Closing), SPEC) as fleet:
        fleet.configure(3)
        fleet.next(FrameKind.HELLO)
    assert closed == [1, 1, 1]
    assert capsys.readouterr().err.count("RuntimeError: cannot close") == 3
