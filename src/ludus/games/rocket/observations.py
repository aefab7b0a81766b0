"""Observations of all seats of n arenas, as packed rows. The feature set `default` equals RLGym's DefaultObs; `rich`
adds features relative to the car."""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import field, scene
from ludus.games.rocket.scene import FLAG, Floats, Scene
from ludus.spec import ObsSpec

CAR = 20  # numbers of one car
_DISTANCE, _SPEED, _SPIN = 1 / 2300, 1 / 2300, 1 / pi
_PHYSICS = np.r_[scene.POSITION, scene.FORWARD, scene.UP, scene.VELOCITY, scene.SPIN, scene.BOOST]  # first 16 of a car
_PHYSICS_SCALE = np.repeat(np.array((_DISTANCE, 1, 1, _SPEED, _SPIN, 1 / 100), np.float32), (3, 3, 3, 3, 3, 1))
_BALL = np.r_[scene.BALL_POSITION, scene.BALL_VELOCITY, scene.BALL_SPIN]
_BALL_SCALE = np.repeat(np.array((_DISTANCE, _SPEED, _SPIN), np.float32), 3)
_MOVING = np.r_[scene.POSITION, scene.VELOCITY]
_JUDGEMENTS = ("is flipping", "can flip", "is boosting")  # what follows from flags of a car
_JUDGED = len(_JUDGEMENTS)
_OWN = (  # what only the driver knows
    "last_controls.jump",
    "handbrake_val",
    "has_jumped",
    "is_jumping",
    "has_flipped",
    "is flipping",
    "has_double_jumped",
    "can flip",
    "air_time_since_jump",
)
_SHOWN = ("demo_respawn_timer", "is boosting", "is_supersonic")  # what everybody sees of a car, beside its physics
_GOALS = np.array(((0, field.BACK_WALL_Y, field.GOAL_Z), (0, -field.BACK_WALL_Y, field.GOAL_Z)), np.float32)


def layout(feature_set: str, room: int) -> ObsSpec:
    """Return the row layout for a feature set. A row has room for `room` cars per team; absent cars are zeros."""
    leaves: dict[str, tuple[str, tuple[int, ...]]] = {
        "ball": ("float32", (9,)),  # position, velocity, spin
        "pads": ("float32", (field.PADS,)),  # tens of seconds until each can be taken
        "own": ("float32", (9,)),  # what only its driver knows: jumps, flips, handbrake
        "car": ("float32", (CAR,)),
        "others": ("float32", (2 * room - 1, CAR)),  # team mates, then opponents
    }
    if feature_set == "rich":
        leaves |= {
            "relative": ("float32", (RELATIVE,)),
            "others_relative": ("float32", (2 * room - 1, 6)),
            "held": ("float32", (8,)),
            "clock": ("float32", (2,)),
        }
    return ObsSpec.pack(leaves)


RELATIVE = 18  # as the car sees it: ball (where, how it moves), own movement, both goals; then distance, facing, height


class Observer:
    """Writes rows [n, S, nbytes]. Seats see the field from their own side: they attack towards positive y.

    DefaultObs is one gather from the scaled numbers of an arena: `_source` holds the index of each number, by seat."""

    def __init__(self, feature_set: str, team: int, room: int) -> None:
        self.obs = layout(feature_set, room)
        self.rich = feature_set == "rich"
        self._team = team
        order = [_order(seat, team, room) for seat in range(2 * team)]
        listed = np.array(order)[:, 1:]
        self._others = np.minimum(listed, 2 * team - 1)  # [S, others]; of cars that are not there, any
        self._there = (listed < 2 * team)[None, :, :, None, None].astype(np.float32)
        self._sides = np.repeat((0, 1), team)  # [S]
        self._at = scene.SceneColumns(2 * team)
        self._source, self._scale = _gathered(order, self._at), _scales(self._at)
        self._scaled = self._gathered = np.empty((0, 0), np.float32)

    def rows(self, now: Scene, last_controls: Floats | None = None, clock: Floats | None = None) -> NDArray[np.uint8]:
        """Return the packed observations [n, S, nbytes]. Only rich observations use the optional arguments.

        `last_controls` [n, S, 8] are those of the last decision, `clock` [n, 2] the used shares of the time limits.
        """
        n, C = now.cars.shape[:2]
        scaled, gathered = self._scratch(n)
        np.multiply(now.numbers, self._scale, out=scaled[:, : self._at.width])
        scaled[:, self._at.width : -1] = _judged(now).reshape(n, -1)
        floats = np.empty((n, C, self.obs.nbytes // 4), np.float32)
        if not self.rich:
            np.take(scaled, self._source, axis=1, out=floats, mode="clip")  # other modes copy once more
            return floats.view(np.uint8)
        np.take(scaled, self._source, axis=1, out=gathered, mode="clip")
        floats[:, :, : self._source.shape[1]] = gathered
        out = floats.view(np.uint8)
        leaves = {leaf.name: self.obs.leaf(out, leaf.name) for leaf in self.obs.leaves}
        self._relate(now, leaves)
        assert last_controls is not None
        assert clock is not None
        leaves["held"][:] = last_controls
        leaves["clock"][:] = clock[:, None]
        return out

    def _scratch(self, n: int) -> tuple[Floats, Floats]:
        """Return scratch arrays, kept between calls: allocating large ones costs more than the computation."""
        if n > len(self._scaled):
            self._scaled = np.zeros((n, self._at.width + _JUDGED * self._at.cars + 1), np.float32)  # the last stays 0
            self._gathered = np.empty((n, *self._source.shape), np.float32)
        return self._scaled[:n], self._gathered[:n]

    def _relate(self, now: Scene, leaves: dict[str, NDArray[np.generic]]) -> None:
        """Write the features of `rich`, relative to each car."""
        sides, team = self._sides, self._team
        mine = np.concatenate((now.cars[:, :team, :, 0], now.cars[:, team:, :, 1]), axis=1)  # [n, S, 36]
        ball = now.ball[:, :, sides].swapaxes(1, 2)  # [n, S, 25]
        n, S = mine.shape[:2]
        axes = mine[..., scene.FORWARD.start : scene.UP.stop].reshape(n, S, 1, 3, 3)
        position, velocity = mine[..., scene.POSITION], mine[..., scene.VELOCITY]
        outward = np.empty((n, S, 5 + 2 * self._others.shape[1], 3), np.float32)
        outward[:, :, 0] = ball[..., scene.BALL_POSITION] - position
        outward[:, :, 1] = ball[..., scene.BALL_VELOCITY] - velocity
        outward[:, :, 2] = velocity
        outward[:, :, 3:5] = _GOALS - position[:, :, None]
        moving = now.cars[:, :, _MOVING].reshape(n, -1, 2, 3, 2)[:, self._others, :, :, sides[:, None]]
        # the two indices stand apart, so that what they choose comes first: [S, others, n, 2, 3]
        apart = moving.transpose(2, 0, 1, 3, 4) - np.stack((position, velocity), axis=2)[:, :, None]
        outward[:, :, 5:] = (apart * self._there).reshape(n, S, -1, 3)
        inward = (axes * outward[:, :, :, None]).sum(axis=-1) * np.float32(_DISTANCE)  # [n, S, vectors, 3]
        distance = np.sqrt((inward[:, :, 0] ** 2).sum(axis=-1))
        relative = leaves["relative"]
        relative[..., :15] = inward[:, :, :5].reshape(n, S, 15)
        relative[..., 15] = distance
        relative[..., 16] = inward[:, :, 0, 0] / np.maximum(distance, np.float32(1e-6))
        relative[..., 17] = position[..., 2] * np.float32(1 / field.CEILING_Z)
        leaves["others_relative"][:] = inward[:, :, 5:].reshape(n, S, -1, 6)


def _gathered(order: list[list[int]], at: scene.SceneColumns) -> NDArray[np.intp]:
    """Return indices [S, numbers] into the scaled numbers: those of the scene, the derived flags, and a zero."""
    C, zero = at.cars, at.width + _JUDGED * at.cars
    source = []
    for seat, listed in enumerate(order):
        side = seat // (C // 2)
        pads = range(field.PADS) if side == 0 else reversed(range(field.PADS))
        row = [at.ball.start + 2 * each + side for each in _BALL]
        row += [at.cooldown.start + each for each in pads]
        row += [_flag(at, seat, each) for each in _OWN]
        for car in listed:
            physics = [at.bodies.start + 2 * (car * scene.CAR + each) + side for each in (*_PHYSICS, scene.ON_GROUND)]
            flags = [_flag(at, car, each) for each in _SHOWN]
            row += [*physics[:-1], flags[0], physics[-1], *flags[1:]] if car < C else [zero] * CAR
        source.append(row)
    return np.array(source, np.intp)


def _flag(at: scene.SceneColumns, car: int, name: str) -> int:
    if name in _JUDGEMENTS:
        return at.width + car * _JUDGED + _JUDGEMENTS.index(name)
    return at.flags.start + car * len(FLAG) + FLAG[name]


def _scales(at: scene.SceneColumns) -> Floats:
    """Return the factor [width] of each number of a scene; 1 for numbers that are not observed."""
    scales = np.ones(at.width, np.float32)
    scales[at.cooldown] = 0.1
    ball, cars = scales[at.ball].reshape(-1, 2), scales[at.bodies].reshape(at.cars, -1, 2)
    ball[_BALL] = _BALL_SCALE[:, None]
    cars[:, _PHYSICS] = _PHYSICS_SCALE[:, None]
    return scales


def _judged(now: Scene) -> Floats:
    """Return the derived flags [n, C, 3] of each car; `_JUDGEMENTS` names the three columns."""
    n, C = now.cars.shape[:2]
    judged = np.empty((n, C, _JUDGED), np.float32)
    flags = now.flags
    flipped = flags[:, :, FLAG["has_flipped"]]
    used_up = flags[:, :, FLAG["last_controls.jump"]] + flipped
    used_up += flags[:, :, FLAG["has_double_jumped"]]
    used_up += now.cars[:, :, scene.ON_GROUND, 0]
    np.multiply(flipped, flags[:, :, FLAG["flip_time"]] < field.FLIP_S, out=judged[:, :, 0])
    np.multiply(used_up == 0, flags[:, :, FLAG["air_time_since_jump"]] < field.DOUBLE_JUMP_S, out=judged[:, :, 1])
    np.greater(flags[:, :, FLAG["time_spent_boosting"]], 0, out=judged[:, :, 2])
    return judged


def _order(seat: int, team: int, room: int) -> list[int]:
    """Return the indices of the cars that a seat observes, its own first. 2 * team is the index of an absent car."""
    nobody, side = 2 * team, seat // team
    sides = [range(team), range(team, 2 * team)]
    mates = [car for car in sides[side] if car != seat]
    spare = [nobody] * (room - team)
    return [seat, *mates, *spare, *sides[1 - side], *spare]
