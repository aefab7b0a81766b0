"""Start states of matches: positions and velocities drawn with a generator. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import field

MARGIN = 100.0  # to walls, floor and ceiling: no ball and no car is larger

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Body:
    """The ball, or a car with its axes as rows: forward, right, up."""

    position: Floats  # [3]
    velocity: Floats  # [3]
    spin: Floats  # [3]
    axes: Floats  # [3, 3]


@dataclass(slots=True)
class StartState:
    ball: Body
    cars: list[Body]  # blue ones, then as many orange ones
    boost: Floats  # [C] 0 to 100


def kickoff(generator: np.random.Generator, team: int) -> StartState:
    """The ball rests in the middle; each team stands on the same kickoff places, across from each other."""
    places = [field.KICKOFFS[place] for place in generator.permutation(len(field.KICKOFFS))[:team]]
    blue = [_standing(x, y, yaw * pi) for x, y, yaw in places]
    orange = [_standing(-x, -y, (yaw + 1) * pi) for x, y, yaw in places]
    return StartState(_ball(0.0, 0.0), blue + orange, np.full(2 * team, field.KICKOFF_BOOST))


def random_physics(generator: np.random.Generator, team: int) -> StartState:
    """Everything anywhere in the arena, moving and turning in any direction."""
    ball, *cars = (_anywhere(generator) for _ in range(1 + 2 * team))
    return StartState(ball, cars, generator.uniform(0.0, 100.0, 2 * team))


def ground(generator: np.random.Generator, team: int) -> StartState:
    """Ball and cars rest at random places on the floor; the cars face random directions."""
    x, y = _floor(generator)
    cars = [_standing(*_floor(generator), generator.uniform(-pi, pi)) for _ in range(2 * team)]
    return StartState(_ball(x, y), cars, generator.uniform(0.0, 100.0, 2 * team))


def shot(generator: np.random.Generator, team: int) -> StartState:
    """A car of a random team has the ball in front of it, in the other team's half. All other cars are placed at
    random."""
    start = ground(generator, team)
    side = float(generator.choice((-1.0, 1.0)))  # 1: blue attacks
    x, y = generator.uniform(-1500.0, 1500.0), generator.uniform(500.0, 3500.0)
    goal_x = generator.uniform(-500.0, 500.0)
    away = np.array((x - goal_x, y - field.BACK_WALL_Y))
    behind = away / np.linalg.norm(away) * generator.uniform(400.0, 1500.0)
    start.ball = _ball(side * x, side * y)
    shooter = 0 if side > 0 else team
    car = _standing(side * (x + behind[0]), side * (y + behind[1]), float(np.arctan2(-side * away[1], -side * away[0])))
    start.cars[shooter] = car
    return start


def aloft(team: int) -> StartState:
    """Everything at rest in the air, and far from everything else."""
    bodies = [
        _ball(0.0, 0.0),
        *(_standing(1000.0 * (1 + car), 0.0, 0.0) for car in (*range(-team - 1, -1), *range(team))),
    ]
    for body in bodies:
        body.position[2] = field.CEILING_Z / 2
    return StartState(bodies[0], bodies[1:], np.zeros(2 * team))


KINDS: Mapping[str, Callable[[np.random.Generator, int], StartState]] = {
    "kickoff": kickoff,
    "random": random_physics,
    "ground": ground,
    "shot": shot,
}


class Starts:
    """Draws a kind by its weight, then a start of that kind. The seed decides both."""

    def __init__(self, weights: Mapping[str, float], team: int) -> None:
        self._kinds = [KINDS[name] for name, weight in weights.items() if weight > 0]
        self._reached = np.cumsum([weight for weight in weights.values() if weight > 0])
        self._team = team

    def draw(self, seed: int) -> StartState:
        generator = np.random.default_rng(seed)
        sample = generator.random() * self._reached[-1]
        return self._kinds[int(np.searchsorted(self._reached, sample, side="right"))](generator, self._team)


def _ball(x: float, y: float) -> Body:
    return Body(np.array((x, y, field.BALL_REST_Z)), np.zeros(3), np.zeros(3), np.eye(3))


def _standing(x: float, y: float, yaw: float) -> Body:
    forward, right = (np.cos(yaw), np.sin(yaw), 0.0), (-np.sin(yaw), np.cos(yaw), 0.0)
    return Body(np.array((x, y, field.CAR_REST_Z)), np.zeros(3), np.zeros(3), np.array((forward, right, (0, 0, 1.0))))


def _floor(generator: np.random.Generator) -> tuple[float, float]:
    reach = np.array((field.SIDE_WALL_X, field.BACK_WALL_Y)) - field.RAMP - MARGIN
    while True:
        x, y = generator.uniform(-reach, reach)
        if abs(x) + abs(y) < field.CORNER - field.RAMP - MARGIN:
            return float(x), float(y)


def _anywhere(generator: np.random.Generator) -> Body:
    low = np.array((-field.SIDE_WALL_X, -field.BACK_WALL_Y, 0.0)) + MARGIN
    high = np.array((field.SIDE_WALL_X, field.BACK_WALL_Y, field.CEILING_Z)) - MARGIN
    while True:
        position = generator.uniform(low, high)
        across, along, height = np.abs(position[0]), np.abs(position[1]), position[2]
        to_wall = min(field.SIDE_WALL_X - across, field.BACK_WALL_Y - along, field.CORNER - across - along)
        level = field.RAMP < height < field.CEILING_Z - field.RAMP
        if across + along < field.CORNER - MARGIN and (to_wall > field.RAMP or level):
            break
    forward, other = _direction(generator), _direction(generator)
    right = np.cross(other, forward)
    right /= np.linalg.norm(right)
    axes = np.array((forward, right, np.cross(forward, right)))
    speed, spin = generator.uniform(0.0, field.CAR_MAX_SPEED), generator.uniform(0.0, 5.0)
    return Body(position, _direction(generator) * speed, _direction(generator) * spin, axes)


def _direction(generator: np.random.Generator) -> Floats:
    vector = generator.standard_normal(3)
    return vector / np.linalg.norm(vector)
