"""Matches that are played together: the same rows, rewards and endings as one after the other, and the same faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import hosted
from tests.hosted import Fleet

from ludus.sdk.match import GroupTurn, HostedGame, Turn
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import frames
from ludus.wire.frames import FrameKind
from ludus.wire.seeds import match_seed

SPEC = GameSpec("climb", 2, 3, ObsSpec.pack({"height": ("float32", (2,))}), 1)


class Climb:
    """Two seats add what they choose to their height; who is first at the seed's summit has won. A seed divisible by 5
    cannot be played, and an even summit stops the match without an end."""

    def start(self, seed: int) -> Turn:
        if seed % 5 == 0:
            raise RuntimeError(f"cannot play seed {seed}")
        self._summit, self._height = 2 + seed % 4, np.zeros(2, np.float32)
        return self._asking(np.zeros(2, np.float32))

    def advance(self, actions: Mapping[int, int]) -> Turn:
        step = np.array((actions[0], actions[1]), np.float32)
        self._height += step
        if self._height.max() < self._summit:
            return self._asking(step)
        won = 0.5 + 0.5 * float(np.sign(self._height[0] - self._height[1]))
        score = (won, 1.0 - won)
        return Turn((), self._rows(), np.ones((0, 3), np.bool_), step, score, self._summit % 2 == 0, {"turns": 1.0})

    def _asking(self, reward: NDArray[np.float32]) -> Turn:
        legal = np.ones((2, 3), np.bool_)
        legal[:, 2] = self._height < 2
        return Turn((0, 1), self._rows(), legal, reward)

    def _rows(self) -> NDArray[np.uint8]:
        rows = np.zeros((2, SPEC.obs.nbytes), np.uint8)
        SPEC.obs.leaf(rows, "height")[:] = (self._height, self._height[::-1])
        return rows


class ClimbGroup:
    def __init__(self, slots: int) -> None:
        self._matches = [Climb() for _ in range(slots)]

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        return self._turned([(self._matches[slot].start, seed) for slot, seed in zip(slots, seeds, strict=True)])

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        chosen = [dict(enumerate(each)) for each in actions.tolist()]
        return self._turned([(self._matches[slot].advance, each) for slot, each in zip(slots, chosen, strict=True)])

    def _turned(self, calls: Sequence[tuple[Any, Any]]) -> GroupTurn:  # Any: start with a seed, advance with actions
        n = len(calls)
        obs, legal = np.zeros((n, 2, SPEC.obs.nbytes), np.uint8), np.ones((n, 2, 3), np.bool_)
        reward = np.zeros((n, 2), np.float32)
        over: dict[int, Turn] = {}
        lost: dict[int, BaseException] = {}
        for place, (call, argument) in enumerate(calls):
            try:
                turn = call(argument)
            except RuntimeError as error:
                lost[place] = error
                continue
            if turn.over:
                over[place] = turn
            else:
                obs[place], legal[place], reward[place] = turn.obs, turn.legal, turn.reward
        return GroupTurn(obs, legal, reward, over, lost)


def served(*, together: bool, status: int = 0) -> AbstractContextManager[Fleet]:
    def make(options: Mapping[str, Any]) -> HostedGame:  # Any: as in CONFIGURE
        return HostedGame(SPEC, group=ClimbGroup) if together else HostedGame(SPEC, Climb)

    return hosted.served(make, SPEC, status)


def received(fleet: Fleet) -> tuple[FrameKind, memoryview]:
    frame = fleet.channel.receive()
    assert frame is not None
    return frame


@pytest.mark.parametrize("together", [True, False])
def test_a_drained_host_ends_its_matches_and_begins_no_others(together: bool) -> None:
    with served(together=together) as fleet:
        fleet.configure(matches=3)
        fleet.next(FrameKind.HELLO)
        opening = fleet.arrivals()
        fleet.channel.send(frames.encode_drain())
        ended, rows = [], opening.row.tolist()
        while rows:
            fleet.act(rows, [1] * len(rows))
            rows, done = [], False
            while not done:
                kind, body = received(fleet)
                if kind is FrameKind.ENDING:
                    ended.append(frames.decode_ending(body, SPEC.seats, SPEC.obs.nbytes)[0].number)
                    continue
                arrivals = frames.decode_arrivals(body, SPEC.actions, SPEC.obs.nbytes)
                rows += arrivals.row.tolist()
                done = arrivals.done
        assert sorted(ended) == sorted(set(opening.match.tolist()))


def heard(*, together: bool, matches: int, rounds: int) -> dict[int, list[Any]]:  # Any: what was said of a match
    """By the number of the match, everything that was said of it, whatever the frames."""
    said: dict[int, list[Any]] = {}
    with served(together=together) as fleet:
        fleet.configure(matches=matches, parts=2)
        fleet.next(FrameKind.HELLO)
        for _ in range(rounds):
            asked: list[tuple[int, int, int]] = []
            done = False
            while not done:
                kind, body = received(fleet)
                if kind is FrameKind.ENDING:
                    head, final = frames.decode_ending(body, SPEC.seats, SPEC.obs.nbytes)
                    last = None if final is None else final.tobytes()
                    said.setdefault(head.number, []).append((head.score, head.reward, head.truncated, head.seed, last))
                elif kind is FrameKind.ERROR:
                    error = frames.decode_error(body)
                    assert error.number is not None
                    said.setdefault(error.number, []).append(error.message)
                else:
                    got = frames.decode_arrivals(body, SPEC.actions, SPEC.obs.nbytes)
                    done = bool(got.done)
                    for at, (row, number) in enumerate(zip(got.row.tolist(), got.match.tolist(), strict=True)):
                        seen = (row % 2, got.reward[at], got.opens[at], got.legal[at].tobytes(), got.obs[at].tobytes())
                        said.setdefault(number, []).append(seen)
                        asked.append((row, (number + len(said[number])) // 2 % 2, number))
            fleet.act([row for row, _, _ in asked], [action for _, action, _ in asked])
    return said


def test_matches_that_are_played_together_say_what_they_say_one_after_the_other() -> None:
    together, in_turn = (heard(together=each, matches=5, rounds=40) for each in (True, False))
    common = sorted(together.keys() & in_turn.keys())
    assert len(common) > 15
    assert any("cannot play" in str(said[0]) for said in together.values())
    for number in common:
        shorter = min(len(together[number]), len(in_turn[number]))
        assert [*map(str, together[number][:shorter])] == [*map(str, in_turn[number][:shorter])]


def test_an_action_for_a_row_that_was_not_asked_ends_a_host_that_plays_together() -> None:
    with served(together=True, status=1) as fleet:
        fleet.configure(schedule=[(0, 1)])
        fleet.next(FrameKind.HELLO)
        fleet.arrivals()
        fleet.act([0], [1])
        fleet.arrivals()
        fleet.act([0], [1])
        assert "row 0, which was not asked" in fleet.error().message


def test_an_action_that_is_not_legal_ends_a_host_that_plays_together() -> None:
    with served(together=True, status=1) as fleet:
        fleet.configure(schedule=[(0, 3)])
        fleet.next(FrameKind.HELLO)
        fleet.arrivals()
        fleet.act([0, 1], [2, 0])
        fleet.arrivals()
        fleet.act([0, 1], [2, 2])
        assert "action 2 for row 0 is not legal" in fleet.error().message


def test_a_match_goes_on_when_all_its_seats_have_chosen_and_not_before() -> None:
    with served(together=True) as fleet:
        fleet.configure(schedule=[(0, 3), (1, 7)], matches=2)
        fleet.next(FrameKind.HELLO)
        assert fleet.arrivals().row.tolist() == [0, 1, 2, 3]
        fleet.act([0, 2, 3], [1, 1, 1])
        assert fleet.arrivals().row.tolist() == [2, 3]
        fleet.act([1], [0])
        last = fleet.arrivals()
        assert (last.row.tolist(), last.reward.tolist()) == ([0, 1], [1.0, 0.0])


def test_seeds_of_a_group_are_those_of_its_numbers() -> None:
    with served(together=True) as fleet:
        fleet.configure(matches=1)
        fleet.next(FrameKind.HELLO)
        opening = fleet.arrivals()
        number = int(opening.match[0])
        rows = opening.row.tolist()
        while True:
            fleet.act(rows, [1, 1])
            kind, body = received(fleet)
            if kind is FrameKind.ENDING:
                head, _ = frames.decode_ending(body, SPEC.seats, SPEC.obs.nbytes)
                assert (head.number, head.seed) == (number, match_seed(1, number))
                return
