"""Where matches begin: inside of the arena, by weight, and by the seed alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ludus.games.rocket import field
from ludus.games.rocket.starts import KINDS, Starts, StartState


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("team", [1, 3])
def test_every_start_is_inside_of_the_arena(kind: str, team: int) -> None:
    for seed in range(200):
        start = KINDS[kind](np.random.default_rng(seed), team)
        assert len(start.cars) == 2 * team
        for body in (start.ball, *start.cars):
            x, y, z = np.abs(body.position)
            assert x < field.SIDE_WALL_X
            assert y < field.BACK_WALL_Y
            assert 0 < z < field.CEILING_Z
            assert x + y < field.CORNER
            assert np.allclose(body.axes @ body.axes.T, np.eye(3))
            assert np.linalg.det(body.axes) == pytest.approx(1.0)
        assert (start.boost >= 0).all()
        assert (start.boost <= 100).all()


def test_at_kickoff_the_teams_stand_across_from_each_other() -> None:
    for seed in range(20):
        start = KINDS["kickoff"](np.random.default_rng(seed), 3)
        places = {tuple(car.position) for car in start.cars}
        assert len(places) == 6
        for blue, orange in zip(start.cars[:3], start.cars[3:], strict=True):
            assert np.allclose(blue.position[:2], -orange.position[:2])
            assert np.allclose(blue.axes[0], -orange.axes[0])
            assert np.dot(start.ball.position - blue.position, blue.axes[0]) > 0


def test_a_shot_has_the_ball_between_the_car_and_the_goal_it_attacks() -> None:
    sides = set()
    for seed in range(50):
        start = KINDS["shot"](np.random.default_rng(seed), 1)
        side = 1.0 if start.ball.position[1] > 0 else -1.0
        sides.add(side)
        shooter = start.cars[0 if side > 0 else 1]
        way = start.ball.position - shooter.position
        assert side * way[1] > 0
        assert np.dot(way, shooter.axes[0]) / np.linalg.norm(way) == pytest.approx(1.0, abs=0.1)
    assert sides == {1.0, -1.0}


def test_kinds_are_drawn_by_their_weights() -> None:
    starts = Starts({"kickoff": 3.0, "random": 0.0, "ground": 1.0}, 1)
    drawn = Counter("kickoff" if _at_rest_in_the_middle(starts.draw(seed)) else "other" for seed in range(2000))
    assert drawn["kickoff"] / 2000 == pytest.approx(0.75, abs=0.03)


def test_the_seed_decides_the_start() -> None:
    starts = Starts({"kickoff": 1.0, "random": 1.0}, 2)
    for seed in range(20):
        once, again = starts.draw(seed), starts.draw(seed)
        assert np.array_equal(once.ball.position, again.ball.position)
        assert all(np.array_equal(a.axes, b.axes) for a, b in zip(once.cars, again.cars, strict=True))


def _at_rest_in_the_middle(start: StartState) -> bool:
    return bool(start.ball.position[0] == 0 and start.ball.position[1] == 0)
