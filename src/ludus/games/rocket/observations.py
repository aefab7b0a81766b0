"""What the seats of n arenas see, as packed rows: feature set `default` is RLGym's DefaultObs number by number, and
`rich` adds what a net would have to work out of it."""

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
_BALL_NUMBERS, _CAR_NUMBERS = 25, 36  # in a scene, in each of two views
_OWN, _SHOWN = 9, 4
_GOALS = np.array(((0, field.BACK_WALL_Y, field.GOAL_Z), (0, -field.BACK_WALL_Y, field.GOAL_Z)), np.float32)


def layout(feature_set: str, room: int) -> ObsSpec:
    """`room`: cars a team that a row has room for; places of cars that are not there are zeros."""
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

    The numbers of DefaultObs are one gather: `_source` says for each of them, seat by seat, which number of an arena it
    is, and `_scale` by what it is multiplied."""

    def __init__(self, feature_set: str, team: int, room: int) -> None:
        self.obs = layout(feature_set, room)
        self._rich = feature_set == "rich"
        self._team = team
        order = [_order(seat, team, room) for seat in range(2 * team)]
        listed = np.array(order)[:, 1:]
        self._others = np.minimum(listed, 2 * team - 1)  # [S, others]; of cars that are not there, any
        self._there = (listed < 2 * team)[None, :, :, None, None].astype(np.float32)
        self._sides = np.repeat((0, 1), team)  # [S]
        self._source, self._scale, self._width = _gathered(order, team)
        self._numbers = self._rows = np.empty((0, 0), np.float32)

    def rows(self, seen: Scene, held: Floats, clock: Floats) -> NDArray[np.uint8]:
        """`held` [n, S, 8]: the controls of the last decision; `clock` [n, 2]: shares of the time limits used up."""
        n, C = seen.cars.shape[:2]
        numbers, gathered = self._scratch(n)
        np.concatenate(
            (
                seen.ball.reshape(n, -1),
                seen.cars.reshape(n, -1),
                seen.cooldown,
                _own(seen).reshape(n, -1),
                _shown(seen).reshape(n, -1),
                np.zeros((n, 1), np.float32),
            ),
            axis=1,
            out=numbers,
        )
        np.take(numbers, self._source, axis=1, out=gathered, mode="clip")  # other modes copy once more
        floats = np.zeros((n, C, self.obs.nbytes // 4), np.float32)
        np.multiply(gathered, self._scale, out=floats[:, :, : self._source.shape[1]])
        out = floats.view(np.uint8)
        if self._rich:
            leaves = {leaf.name: self.obs.leaf(out, leaf.name) for leaf in self.obs.leaves}
            self._relate(seen, leaves)
            leaves["held"][:] = held
            leaves["clock"][:] = clock[:, None]
        return out

    def _scratch(self, n: int) -> tuple[Floats, Floats]:
        """Kept between calls: what is large enough to be fresh pages of memory costs more than what is done with it."""
        if n > len(self._numbers):
            self._numbers = np.empty((n, self._width), np.float32)
            self._rows = np.empty((n, *self._source.shape), np.float32)
        return self._numbers[:n], self._rows[:n]

    def _relate(self, seen: Scene, leaves: dict[str, NDArray[np.generic]]) -> None:
        """From inside the cars."""
        sides, team = self._sides, self._team
        mine = np.concatenate((seen.cars[:, :team, :, 0], seen.cars[:, team:, :, 1]), axis=1)  # [n, S, 36]
        ball = seen.ball[:, :, sides].swapaxes(1, 2)  # [n, S, 25]
        n, S = mine.shape[:2]
        axes = mine[..., scene.FORWARD.start : scene.UP.stop].reshape(n, S, 1, 3, 3)
        position, velocity = mine[..., scene.POSITION], mine[..., scene.VELOCITY]
        outward = np.empty((n, S, 5 + 2 * self._others.shape[1], 3), np.float32)
        outward[:, :, 0] = ball[..., scene.BALL_POSITION] - position
        outward[:, :, 1] = ball[..., scene.BALL_VELOCITY] - velocity
        outward[:, :, 2] = velocity
        outward[:, :, 3:5] = _GOALS - position[:, :, None]
        moving = seen.cars[:, :, _MOVING].reshape(n, -1, 2, 3, 2)[:, self._others, :, :, sides[:, None]]
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


def _gathered(order: list[list[int]], team: int) -> tuple[NDArray[np.intp], Floats, int]:
    """[S, numbers] each: places in what `rows` puts together, and scales; and how much that is."""
    C = 2 * team
    ball_at, cars_at = 0, 2 * _BALL_NUMBERS
    pads_at = cars_at + C * 2 * _CAR_NUMBERS
    own_at = pads_at + field.PADS
    shown_at = own_at + C * _OWN
    zero = shown_at + C * _SHOWN  # the last
    source, scale = [], []
    for seat, listed in enumerate(order):
        side = seat // team
        pads = range(field.PADS) if side == 0 else reversed(range(field.PADS))
        row = [ball_at + 2 * each + side for each in _BALL]
        row += [pads_at + each for each in pads]
        row += [own_at + seat * _OWN + each for each in range(_OWN)]
        for car in listed:
            at = cars_at + car * 2 * _CAR_NUMBERS
            physics = [at + 2 * each + side for each in _PHYSICS]
            shown = [shown_at + car * _SHOWN + each for each in range(_SHOWN)]
            row += physics + shown if car < C else [zero] * CAR
        source.append(row)
        seat_scale = [*_BALL_SCALE, *[np.float32(0.1)] * field.PADS, *[1.0] * _OWN]
        scale.append(seat_scale + [*_PHYSICS_SCALE, *[1.0] * _SHOWN] * len(listed))
    return np.array(source, np.intp), np.array(scale, np.float32), zero + 1


def _shown(seen: Scene) -> Floats:
    """[n, C, 4] what everybody sees of a car, beside its physics: seconds until it is back, wheels, boost, speed."""
    n, C = seen.cars.shape[:2]
    shown = np.empty((n, C, _SHOWN), np.float32)
    shown[:, :, 0] = seen.flags[:, :, FLAG["demo_respawn_timer"]]
    shown[:, :, 1] = seen.cars[:, :, scene.ON_GROUND, 0]
    shown[:, :, 2:] = seen.flags[:, :, FLAG["time_spent_boosting"] : FLAG["supersonic_time"] + 1] > 0
    return shown


def _own(seen: Scene) -> Floats:
    """[n, C, 9] what only the driver knows."""
    n, C = seen.cars.shape[:2]
    own = np.empty((n, C, _OWN), np.float32)
    own[:, :, :5] = seen.flags[:, :, :5]  # holds jump, handbrake, has jumped, is jumping, has flipped
    holding, flipped = seen.flags[:, :, FLAG["last_controls.jump"]], seen.flags[:, :, FLAG["has_flipped"]]
    doubled, in_air_s = seen.flags[:, :, FLAG["has_double_jumped"]], seen.flags[:, :, FLAG["air_time_since_jump"]]
    used_up = holding + flipped + doubled + seen.cars[:, :, scene.ON_GROUND, 0]
    own[:, :, 5] = (flipped > 0) & (seen.flags[:, :, FLAG["flip_time"]] < field.FLIP_S)
    own[:, :, 6] = doubled
    own[:, :, 7] = (used_up == 0) & (in_air_s < field.DOUBLE_JUMP_S)  # can flip
    own[:, :, 8] = in_air_s
    return own


def _order(seat: int, team: int, room: int) -> list[int]:
    """Which cars a seat lists, itself first; 2 * team stands for one that is not there."""
    nobody, side = 2 * team, seat // team
    sides = [range(team), range(team, 2 * team)]
    mates = [car for car in sides[side] if car != seat]
    spare = [nobody] * (room - team)
    return [seat, *mates, *spare, *sides[1 - side], *spare]
