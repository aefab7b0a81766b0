"""Scripted drivers, from observations alone and for all rows at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import controls, field
from ludus.games.rocket.scene import Floats
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

SCALE = 2300.0  # of positions and velocities in an observation
HOME = (0.0, 400.0 - field.BACK_WALL_Y)  # a keeper's place before its goal
DANGER_Y = -1500.0  # a ball behind this line is the keeper's


class CarView(NamedTuple):
    """The observations of n rows in unreal units. Every seat attacks towards positive y."""

    ball: Floats  # [n, 3]
    ball_velocity: Floats  # [n, 3]
    position: Floats  # [n, 3]
    forward: Floats  # [n, 3]
    up: Floats  # [n, 3]
    velocity: Floats  # [n, 3]
    on_ground: NDArray[np.bool_]  # [n]
    holds_jump: NDArray[np.bool_]  # [n]


class ChaserPolicy:
    """Drives at the ball with all it has, and never leaves the ground by itself."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        view = view_of(self._spec, arrivals.obs)
        return Choices.scripted(recovering(view, drive(view, view.ball, arrive=np.zeros(len(view.ball), np.bool_))))


class KeeperPolicy:
    """Waits before its goal, in the way of the ball, and drives at a ball that comes near."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        view = view_of(self._spec, arrivals.obs)
        danger = view.ball[:, 1] + view.ball_velocity[:, 1] < DANGER_Y  # there, or within a second
        home = np.zeros_like(view.ball)
        home[:, 0] = np.clip(view.ball[:, 0] * 0.3, -700.0, 700.0) + HOME[0]
        home[:, 1] = HOME[1]
        target = np.where(danger[:, None], view.ball, home)
        return Choices.scripted(recovering(view, drive(view, target, arrive=~danger)))


def view_of(spec: GameSpec, obs: NDArray[np.uint8]) -> CarView:
    ball = spec.obs.leaf(obs, "ball").astype(np.float32)
    car = spec.obs.leaf(obs, "car").astype(np.float32)
    own = spec.obs.leaf(obs, "own")
    return CarView(
        ball[:, 0:3] * SCALE,
        ball[:, 3:6] * SCALE,
        car[:, 0:3] * SCALE,
        car[:, 3:6],
        car[:, 6:9],
        car[:, 9:12] * SCALE,
        car[:, 17] > 0,
        own[:, 0] > 0,  # type: ignore[operator]  # a leaf of floats
    )


def drive(view: CarView, target: Floats, *, arrive: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return actions [n] that drive to a target. Cars slow down for it where `arrive` is True."""
    way = target - view.position
    ahead = (way * view.forward).sum(axis=1)
    aside = (way * np.cross(view.up, view.forward)).sum(axis=1)
    angle = np.arctan2(aside, ahead)
    distance, speed = np.hypot(ahead, aside), (view.velocity * view.forward).sum(axis=1)
    steer = np.where(np.abs(angle) > 0.08, np.sign(angle), 0).astype(np.int64)
    sharp = np.abs(angle) > 1.6
    throttle = np.ones(len(way), np.int64)
    near = arrive & (distance < np.maximum(0.6 * speed, 150.0))
    throttle[near] = -np.sign(np.trunc(speed[near] / 100.0)).astype(np.int64)
    boost = (np.abs(angle) < 0.25) & (distance > 600.0) & ~arrive
    return controls.ground_action(throttle, steer, boost, sharp & (speed > 600.0))


def recovering(view: CarView, driving: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return actions [n] that turn the wheels down in the air and jump off the roof; else those of `driving`."""
    right = np.cross(view.up, view.forward)
    roll = np.where(np.abs(right[:, 2]) > 0.1, np.sign(right[:, 2]), 0).astype(np.int64)
    pitch = np.where(np.abs(view.forward[:, 2]) > 0.2, -np.sign(view.forward[:, 2]), 0).astype(np.int64)
    turning = _TURNS[pitch + 1, roll + 1]
    on_roof = (view.up[:, 2] < 0.3) & (view.position[:, 2] < 100.0)
    jumping = np.where(view.holds_jump, _REST, _JUMP)
    return np.where(view.on_ground, driving, np.where(on_roof, jumping, turning)).astype(np.int32)


_REST, _JUMP = controls.action_of(), controls.action_of(jump=1)
_TURNS = np.array([[controls.action_of(pitch=pitch, roll=roll) for roll in (-1, 0, 1)] for pitch in (-1, 0, 1)])
