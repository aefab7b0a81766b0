"""The main loop of a Python host, over memory: what it says to a fleet that behaves, and to one that does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.hosting.match import HostedGame, Turn
from ludus.hosting.serve import serve
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import frames
from ludus.wire.channel import MemoryChannel, memory_pair
from ludus.wire.frames import Kind
from ludus.wire.seeds import derive

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


def _obs(n: int, turn: int) -> np.ndarray[Any, np.dtype[np.uint8]]:  # Any: the shape
    rows = np.zeros((n, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(rows, "turn")[:] = turn
    return rows


def _legal(n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:  # Any: the shape
    return np.ones((n, SPEC.actions), np.bool_)


def make(options: Mapping[str, Any]) -> HostedGame:
    if options:
        raise ConfigError(f"unknown option {next(iter(options))!r}")
    return HostedGame(SPEC, Race, {"version": "3"})


class Fleet:
    """The other end of the memory channel."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel

    def configure(self, matches: int = 1, **fields: Any) -> None:  # Any: fields of Configure
        self.channel.send(frames.encode_configure(frames.Configure(matches, fields.pop("options", {}), 1, **fields)))

    def act(self, rows: list[int], actions: list[int]) -> None:
        self.channel.send(frames.encode_actions(np.array(rows, np.int32), np.array(actions, np.int32)))

    def next(self, kind: Kind) -> memoryview:
        frame = self.channel.receive()
        assert frame is not None
        assert frame[0] is kind, (frame[0], bytes(frame[1]))
        return frame[1]

    def arrivals(self) -> frames.ArrivalsBody:
        return frames.decode_arrivals(self.next(Kind.ARRIVALS), SPEC.actions, SPEC.obs.nbytes)

    def ending(self) -> frames.EndingHead:
        return frames.decode_ending(self.next(Kind.ENDING), SPEC.seats, SPEC.obs.nbytes)[0]

    def error(self) -> frames.ErrorBody:
        return frames.decode_error(self.next(Kind.ERROR))


@contextmanager
def served(expected_status: int = 0) -> Iterator[Fleet]:
    """A host in a thread; stops with the end of its channel."""
    ours, theirs = memory_pair()
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(serve(make, theirs)))
    thread.start()
    try:
        yield Fleet(ours)
    finally:
        ours.close()
        thread.join(10.0)
    assert status == [expected_status]


def test_host_greets_opens_and_plays_to_the_end() -> None:
    with served() as fleet:
        fleet.configure(schedule=[(7, 11)], keep_log=True)
        hello = frames.decode_hello(fleet.next(Kind.HELLO))
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
        fleet.next(Kind.HELLO)
        for round_ in range(2):
            times = frames.decode_times(fleet.next(Kind.TIMES))
            assert fleet.arrivals().done
            assert sum(found.total_ns for found in times.stages.values()) == times.wall_ns
            assert times.stages["simulate"].passes == 1
            assert ("wait" in times.stages) == (round_ > 0)
            fleet.act([0, 1], [1, 0])


def test_a_resumed_host_opens_the_given_matches_and_numbers_go_on() -> None:
    with served() as fleet:
        fleet.configure(matches=3, resume=frames.Resumption([4, None, 2], 6))
        fleet.next(Kind.HELLO)
        assert fleet.arrivals().match.tolist() == [4, 4, 6, 6, 2, 2]
        for _ in range(2):
            fleet.act([0, 1], [0, 0])
            last = fleet.next(Kind.ENDING) if _ else fleet.arrivals()
        assert not isinstance(last, frames.ArrivalsBody)
        ending = frames.decode_ending(last, SPEC.seats, SPEC.obs.nbytes)[0]
        assert (ending.number, ending.seed) == (4, derive(1, 4))
        assert fleet.arrivals().match.tolist() == [7, 7]


def test_half_of_a_decision_is_answered_with_an_empty_frame() -> None:
    with served() as fleet:
        fleet.configure(schedule=[(0, 1)])
        fleet.next(Kind.HELLO)
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
        fleet.next(Kind.HELLO)
        assert [(len(came.row), came.done) for came in (fleet.arrivals() for _ in sizes)] == sizes


def test_seeds_are_derived_from_the_hosts_seed_unless_scheduled() -> None:
    with served() as fleet:
        fleet.configure()
        fleet.next(Kind.HELLO)
        lost = derive(1, 0) % 5 == 0
        number = int(fleet.arrivals().match[0])
        fleet.act([0, 1], [0, 0])
        fleet.arrivals()
        fleet.act([0, 1], [0, 0])
        assert fleet.ending().seed == derive(1, number)
        assert number == int(lost)


def test_match_that_cannot_start_is_reported_and_the_next_one_opens(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as fleet:
        fleet.configure(schedule=[(0, 5), (1, 1)])
        fleet.next(Kind.HELLO)
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
        fleet.next(Kind.HELLO)
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
