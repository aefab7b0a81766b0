"""Matches of Rocket League that begin where a test wants them to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import controls, field
from ludus.games.rocket.matches import RocketMatches, spec_of
from ludus.games.rocket.options import RocketOptions
from ludus.games.rocket.starts import Body, StartState
from ludus.sdk.match import GroupTurn, Turn

REST = controls.action_of()
GAS = controls.action_of(throttle=1)
BOOST = controls.action_of(throttle=1, boost=1)


def endless(**options: Any) -> RocketOptions:  # Any: whatever an option may be
    """Matches that only a goal ends."""
    return RocketOptions(**options, timeout_s=1e6, no_touch_s=1e6)


class Placed:
    """Draws the same start whatever the seed."""

    def __init__(self, start: StartState) -> None:
        self._start = start

    def draw(self, seed: int) -> StartState:
        return self._start


def matches(options: RocketOptions, start: StartState | None = None, slots: int = 1) -> RocketMatches:
    made = RocketMatches(options, spec_of(options), slots)
    if start is not None:
        made._starts = Placed(start)  # type: ignore[assignment]  # has what is called
    return made


def body(x: float, y: float, z: float, *, yaw: float = 0.0, velocity: tuple[float, float, float] = (0, 0, 0)) -> Body:
    axes = np.array(((np.cos(yaw), np.sin(yaw), 0.0), (-np.sin(yaw), np.cos(yaw), 0.0), (0.0, 0.0, 1.0)))
    return Body(np.array((x, y, z)), np.array(velocity, np.float64), np.zeros(3), axes)


def ball(x: float, y: float, *, velocity: tuple[float, float, float] = (0, 0, 0)) -> Body:
    return body(x, y, field.BALL_REST_Z, velocity=velocity)


def car(x: float, y: float, *, yaw: float = np.pi / 2, velocity: tuple[float, float, float] = (0, 0, 0)) -> Body:
    return body(x, y, field.CAR_REST_Z, yaw=yaw, velocity=velocity)


def placed(of_ball: Body, *cars: Body, boost: float = 50.0) -> StartState:
    return StartState(of_ball, list(cars), np.full(len(cars), boost))


def act(played: RocketMatches, *actions: int) -> GroupTurn:
    return played.advance([0], np.array([actions], np.int32))


def until_over(played: RocketMatches, *actions: int, decisions: int = 1000) -> tuple[Turn, NDArray[np.float32]]:
    """How it ended, and what each seat earned in all."""
    earned = np.zeros(len(actions), np.float32)
    for _ in range(decisions):
        turn = act(played, *actions)
        if turn.over:
            return turn.over[0], earned + turn.over[0].reward
        earned += turn.reward[0]
    raise AssertionError(f"not over after {decisions} decisions")
