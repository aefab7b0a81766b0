"""Matches that wait, in an event loop or in threads: rows go out when they are ready, late matches are given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from tests import hosted
from tests.hosted import Fleet

from ludus.sdk.match import HostedGame, Turn
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import frames
from ludus.wire.frames import FrameKind

SPEC = GameSpec("errand", 1, 2, ObsSpec.pack({"seed": ("float32", (1,))}), 1)
QUICK, NEVER, BROKEN = 1, 2, 3  # seeds
LATE_S = 0.2


def turn(seed: int, *, over: bool = False) -> Turn:
    obs = np.zeros((0 if over else 1, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(obs, "seed")[:] = seed
    legal, reward = np.ones((len(obs), 2), np.bool_), np.ones(1, np.float32)
    return Turn(() if over else (0,), obs, legal, reward, (1.0,) if over else None)


class AsyncErrand:
    """Asks at once. What was chosen is done at once, never, or fails, by the seed."""

    seen: list[str]

    async def start(self, seed: int) -> Turn:
        self._seed = seed
        return turn(seed)

    async def advance(self, actions: Mapping[int, int]) -> Turn:
        if self._seed == NEVER:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.seen.append("cancelled")
                raise
        if self._seed == BROKEN:
            raise BrokenPipeError("the game's own connection")
        return turn(self._seed, over=actions[0] == 1)

    async def close(self) -> None:
        self.seen.append("closed")


class ThreadErrand:
    """As above, in a thread."""

    seen: list[str]
    never = threading.Event()

    def start(self, seed: int) -> Turn:
        self._seed = seed
        return turn(seed)

    def advance(self, actions: Mapping[int, int]) -> Turn:
        if self._seed == NEVER:
            self.never.wait(5.0)
        if self._seed == BROKEN:
            raise BrokenPipeError("the game's own connection")
        return turn(self._seed, over=actions[0] == 1)

    def close(self) -> None:
        self.seen.append("closed")


class Waiting:
    """One of the two kinds, its record of what happened to its matches, and a fleet for it."""

    def __init__(self, threads: bool) -> None:
        self.threads = threads
        self.seen: list[str] = []
        base: Any = ThreadErrand if threads else AsyncErrand  # Any: two protocols
        self._match = type("Errand", (base,), {"seen": self.seen})

    def served(self, deadline_s: float = 20.0, status: int = 0) -> AbstractContextManager[Fleet]:
        game = HostedGame(SPEC, self._match, threads=self.threads, deadline_s=deadline_s)
        return hosted.served(lambda _: game, SPEC, status)


@pytest.fixture(params=["loop", "threads"])
def waiting(request: pytest.FixtureRequest) -> Waiting:
    ThreadErrand.never.clear()
    return Waiting(request.param == "threads")


@pytest.fixture(autouse=True)
def _let_all_threads_go() -> Any:  # Any: a generator
    yield
    ThreadErrand.never.set()


def opened(fleet: Fleet, seeds: list[int], then: int = QUICK) -> None:
    """Matches with these seeds wait for actions; others follow with the seed `then`."""
    schedule = [*enumerate(seeds), *((number, then) for number in range(len(seeds), len(seeds) + 20))]
    fleet.configure(len(seeds), schedule=schedule)
    fleet.next(FrameKind.HELLO)
    rows: list[int] = []
    done = False
    while not done:
        came = fleet.arrivals()
        rows += came.row.tolist()
        done = came.done
    assert sorted(rows) == list(range(len(seeds)))


def test_a_drained_host_begins_no_more_matches_and_completes_its_answers(waiting: Waiting) -> None:
    with waiting.served() as fleet:
        opened(fleet, [QUICK, QUICK])
        fleet.channel.send(frames.encode_drain())
        for row in (0, 1):
            fleet.act([row], [1])
            assert fleet.ending().slot == row
            last = fleet.arrivals()
            assert (len(last.row), last.done) == (0, True)


def test_rows_come_while_other_matches_are_at_work(waiting: Waiting) -> None:
    with waiting.served() as fleet:
        opened(fleet, [NEVER, QUICK, QUICK])
        fleet.act([0, 1, 2], [0, 0, 0])
        rows: list[int] = []
        while len(rows) < 2:
            came = fleet.arrivals()
            assert not came.done, "an answer stays open while a match is at work"
            rows += came.row.tolist()
        assert sorted(rows) == [1, 2]
        for _ in range(3):  # and on they go, each answer at once
            fleet.act([1], [0])
            rows, answered = [], 0
            while not (rows and answered):
                came = fleet.arrivals()
                rows += came.row.tolist()
                answered += came.done
            assert (rows, answered) == ([1], 1)
    assert waiting.seen.count("closed") >= 2
    if not waiting.threads:
        assert waiting.seen.count("cancelled") == 1
        assert waiting.seen.count("closed") == 3


def test_all_that_is_ready_when_nobody_is_at_work_comes_with_the_end_of_the_answer(waiting: Waiting) -> None:
    with waiting.served() as fleet:
        opened(fleet, [QUICK] * 4)
        fleet.act([0, 1, 2, 3], [0, 0, 0, 0])
        came = fleet.arrivals()
        rows = came.row.tolist()
        while not came.done:
            came = fleet.arrivals()
            rows += came.row.tolist()
        assert sorted(rows) == [0, 1, 2, 3]


def test_a_late_match_is_lost_and_the_next_one_opens(waiting: Waiting, capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.served(deadline_s=LATE_S) as fleet:
        opened(fleet, [NEVER])
        fleet.act([0], [0])
        error = fleet.error()
        assert (error.kind, error.slot, error.number) == ("match", 0, 0)
        assert error.message == "TimeoutError: the match returned no turn within 0.2 s"
        came = fleet.arrivals()
        assert (came.match.tolist(), came.done) == ([1], True)
        fleet.act([0], [1])
        assert fleet.ending().number == 1
    assert "no turn within" in capsys.readouterr().err


def test_a_host_whose_matches_are_all_late_gives_up(waiting: Waiting, capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.served(deadline_s=LATE_S, status=1) as fleet:
        opened(fleet, [NEVER], then=NEVER)
        for _ in range(4):
            fleet.act([0], [0])
            assert fleet.error().kind == "match"
            fleet.arrivals()
        fleet.act([0], [0])
        error = fleet.error()
        assert (error.kind, "5 matches returned no turn" in error.message) == ("internal", True)
    assert "no turn within" in capsys.readouterr().err


def test_whatever_a_match_raises_loses_that_match(waiting: Waiting, capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.served() as fleet:
        opened(fleet, [BROKEN])
        fleet.act([0], [0])
        assert fleet.error().message == "BrokenPipeError: the game's own connection"
        assert fleet.arrivals().match.tolist() == [1]
    assert "BrokenPipeError" in capsys.readouterr().err


def test_an_action_nobody_asked_for_ends_the_host(waiting: Waiting, capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.served(status=1) as fleet:
        opened(fleet, [NEVER, QUICK])
        fleet.act([0], [0])
        fleet.act([0], [0])
        kinds = []
        while True:
            frame = fleet.channel.receive()
            assert frame is not None
            kinds.append(frame[0])
            if frame[0] is FrameKind.ERROR:
                break
        assert "row 0, which was not asked" in frames.decode_error(frame[1]).message
    assert "ProtocolError" in capsys.readouterr().err


def test_matches_that_wait_tell_their_times(waiting: Waiting) -> None:
    with waiting.served() as fleet:
        fleet.configure(times_s=1e-9)
        fleet.next(FrameKind.HELLO)
        for _ in range(2):
            times = frames.decode_times(fleet.next(FrameKind.TIMES))
            assert fleet.arrivals().done
            assert sum(found.total_ns for found in times.activities.values()) == times.wall_ns
            fleet.act([0], [0])
