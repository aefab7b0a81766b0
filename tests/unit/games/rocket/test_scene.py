"""Arenas that are read together say of every car, the ball and every pad what each says when it is asked by itself."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.unit.games.rocket.playing import BOOST, REST, ball, car, endless, matches, placed

from ludus.games.rocket import scene
from ludus.games.rocket.arena import Pitch
from ludus.games.rocket.matches import RocketMatches
from ludus.games.rocket.scene import FLAG, Scene
from ludus.games.rocket.starts import StartState

SLOTS, DECISIONS, TICKS = 3, 300, 900  # at least so many
_HIT = scene.ON_GROUND + 1  # whether the ball was hit since this was last asked: not read


@pytest.mark.parametrize(("team", "skip", "late"), [(1, 8, 1), (3, 8, 1), (3, 4, 0), (3, 1, 1)])
def test_reading_all_arenas_is_asking_each_car_by_itself(team: int, skip: int, late: int) -> None:
    options = endless(team_size=team, tick_skip=skip, late_ticks=late)
    played = matches(options, _ramming(team), SLOTS)
    slots, generator = list(range(SLOTS)), np.random.default_rng(team)
    read = _scenes(played)
    played.start(slots, slots)
    _assert_as_asked(read.pop(), played, slots)
    demolished, returned = 0, 0
    before = np.zeros((SLOTS, 2 * team), np.bool_)
    for decision in range(max(DECISIONS, TICKS // skip)):
        actions = generator.integers(0, 90, (SLOTS, 2 * team)).astype(np.int32)
        if decision < 160 // skip:
            actions[:, :team], actions[:, team:] = BOOST, REST
        asked = slots if decision % 3 else slots[::2]
        turn = played.advance(asked, actions[asked])
        seen = read.pop()
        _assert_as_asked(seen, played, asked)
        gone = seen.cars[:, :, scene.DEMOLISHED, 0] != 0
        demolished += int((gone & ~before[asked]).sum())
        returned += int((before[asked] & ~gone).sum())
        before[asked] = gone
        if turn.over:
            ended = [asked[place] for place in turn.over]
            played.start(ended, ended)
            _assert_as_asked(read.pop(), played, ended)
            before[ended] = False
    assert demolished >= SLOTS
    assert returned > 0


def test_touches_are_told_of_the_arena_and_the_car_and_only_once() -> None:
    at_the_ball = placed(ball(0, 0), car(0, -400, velocity=(0, 1500, 0)), car(3000, 1000))
    played = matches(endless(), at_the_ball, SLOTS)
    read = _scenes(played)
    slots = list(range(SLOTS))
    played.start(slots, slots)
    counted = np.zeros((SLOTS, 2), np.int64)
    kept: list[list[int]] = [[] for _ in slots]
    for slot in slots:
        _keep_touches(_pitch(played, slot), kept[slot])
    for decision in range(10):
        asked = [1] if decision % 2 else slots
        played.advance(asked, np.full((len(asked), 2), BOOST, np.int32))
        counted[asked] += read.pop().touches
    assert [np.bincount(each, minlength=2).tolist() for each in kept] == counted.tolist()
    assert counted[:, 0].all()
    assert not counted[:, 1].any()


def _ramming(team: int) -> StartState:
    """Blue cars at full speed before orange ones that stand in their way."""
    sides = [900.0 * (each - 1) - 1500 for each in range(team)]
    blue = [car(x, -1000, velocity=(0, 2300, 0)) for x in sides]
    return placed(ball(3000, 3000), *blue, *(car(x, 0, yaw=0.0) for x in sides), boost=100.0)


def _scenes(played: RocketMatches) -> list[Scene]:
    """Gets each scene that is read from now on."""
    found: list[Scene] = []
    scene_of = played._reader.scene

    def noted(*asked: Any) -> Scene:  # Any: what scene() takes
        found.append(scene_of(*asked))
        return found[-1]

    played._reader.scene = noted  # type: ignore[method-assign, assignment]  # to look on
    return found


def _assert_as_asked(seen: Scene, played: RocketMatches, slots: list[int]) -> None:
    for place, slot in enumerate(slots):
        pitch = _pitch(played, slot)
        _, pads, of_ball, *cars = pitch.read_state()
        assert np.array_equal(seen.ball[place], of_ball.T)
        assert np.array_equal(seen.numbers[place, played._reader._at.pads].reshape(-1, 2), pads.T)
        for seat, (body, each) in enumerate(zip(cars, pitch.cars, strict=True)):
            assert np.array_equal(np.delete(seen.cars[place, seat], _HIT, axis=0), np.delete(body.T, _HIT, axis=0))
            assert np.array_equal(seen.flags[place, seat], _flags(each))
        assert seen.scored[place] == pitch.scored
        waiting = [each.get_state().demo_respawn_timer for each in pitch.cars]
        assert pitch.returning == any(0 < left < played._passed_s + 0.5 / 120 for left in waiting)


def _flags(one: Any) -> NDArray[np.float32]:  # Any: RocketSim's stubs are not those of its module
    state = one.get_state()
    return np.array([float(attrgetter(name)(state)) for name in FLAG], np.float32)


def _pitch(played: RocketMatches, slot: int) -> Pitch:
    pitch = played._pitches[slot]
    assert pitch is not None
    return pitch


def _keep_touches(pitch: Pitch, kept: list[int]) -> None:
    def touched(**said: Any) -> None:  # Any: as above
        kept.append(pitch._seat[said["car"].id])
        pitch._touched(**said)

    pitch.arena.set_ball_touch_callback(touched)
