"""Scripted drivers do on real arenas what they are for."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.unit.games.rocket.playing import ball, car, endless, matches, placed

from ludus.games.rocket.matches import RocketMatches
from ludus.games.rocket.options import RocketOptions
from ludus.games.rocket.scripted import ChaserPolicy, KeeperPolicy, view_of
from ludus.games.toy.scripted import RandomPolicy
from ludus.types import Arrivals, Policy


def acted(policy: Policy, rows: np.ndarray, actions: int = 90) -> np.ndarray:
    n = len(rows)
    nothing = np.zeros(n, np.float32)
    legal = np.ones((n, actions), np.bool_)
    arrivals = Arrivals(np.arange(n, dtype=np.int32), np.zeros(n, np.int64), rows, legal, nothing, nothing > 0)
    return policy.act(arrivals).action


def decisions_to_touch(played: RocketMatches, slots: int, limit: int) -> list[int]:
    """Of the chaser in blue, against cars that stand."""
    chaser = ChaserPolicy(played._spec, 0)
    turn, first = played.start(range(slots), range(slots)), [limit] * slots
    for decision in range(limit):
        actions = np.full((slots, 2), 9, np.int32)
        actions[:, 0] = acted(chaser, turn.obs[:, 0])
        turn = played.advance(range(slots), actions)
        for slot in np.flatnonzero(played._touches[:, 0]).tolist():
            first[slot] = min(first[slot], decision)
    return first


@pytest.mark.parametrize(("start", "within_s"), [("kickoff", 4), ("ground", 10), ("random", 15)])
def test_a_chaser_finds_the_ball_from_anywhere(start: str, within_s: int) -> None:
    played = matches(
        endless(
            starts={start: 1.0},
        ),
        slots=12,
    )
    first = decisions_to_touch(played, 12, within_s * 15)
    assert sum(each < within_s * 15 for each in first) >= 11


def test_a_chaser_beats_a_driver_that_does_anything() -> None:
    played = matches(RocketOptions(timeout_s=40.0), slots=8)
    chaser, anything = ChaserPolicy(played._spec, 0), RandomPolicy(played._spec, 1)
    turn, won, lost, running = played.start(range(8), range(8)), 0, 0, list(range(8))
    while running:
        actions = np.stack((acted(chaser, turn.obs[:, 0]), acted(anything, turn.obs[:, 1])), axis=1)
        turn = played.advance(running, actions)
        won += sum(each.score == (1.0, 0.0) for each in turn.over.values())
        lost += sum(each.score == (0.0, 1.0) for each in turn.over.values())
        kept = [place for place in range(len(running)) if place not in turn.over]
        running, turn = [running[place] for place in kept], type(turn)(turn.obs[kept], turn.legal, turn.reward)
    assert won > lost
    assert won >= 2


def test_a_keeper_goes_home_and_stays_there_while_the_ball_is_far() -> None:
    far = placed(ball(0, 3000), car(2000, 1000), car(-3000, 4000))
    played = matches(endless(), far)
    keeper, turn = KeeperPolicy(played._spec, 0), played.start([0], [1])
    for _ in range(200):
        turn = played.advance([0], np.array([[acted(keeper, turn.obs[:, 0])[0], 9]], np.int32))
    home = view_of(played._spec, turn.obs[:, 0])
    assert abs(float(home.position[0, 0])) < 900
    assert float(home.position[0, 1]) < -4000
    assert float(np.linalg.norm(home.velocity)) < 300


def test_a_keeper_meets_a_ball_that_rolls_towards_its_goal() -> None:
    shot = placed(ball(300, 0, velocity=(0, -900, 0)), car(0, -4700), car(-3000, 4000))
    played = matches(endless(), shot)
    keeper, turn = KeeperPolicy(played._spec, 0), played.start([0], [1])
    for _ in range(90):
        turn = played.advance([0], np.array([[acted(keeper, turn.obs[:, 0])[0], 9]], np.int32))
        assert not turn.over
        if played._touches[0, 0]:
            return
    raise AssertionError("the keeper did not touch the ball")
