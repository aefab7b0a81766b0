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
    """Writes rows [n, S, nbytes]. Seats see the field from their own side: they attack towards positive y."""

    def __init__(self, feature_set: str, team: int, room: int) -> None:
        self.obs = layout(feature_set, room)
        self._rich = feature_set == "rich"
        self._team, self._room = team, room
        self._order = [_order(seat, team, room) for seat in range(2 * team)]

    def rows(self, seen: Scene, held: Floats, clock: Floats) -> NDArray[np.uint8]:
        """`held` [n, S, 8]: the controls of the last decision; `clock` [n, 2]: shares of the time limits used up."""
        n, C, team = len(seen.ball), seen.cars.shape[1], self._team
        out = np.zeros((n, C, self.obs.nbytes), np.uint8)
        leaves = {leaf.name: self.obs.leaf(out, leaf.name) for leaf in self.obs.leaves}
        cars = self._cars(seen)
        ball = seen.ball[:, _BALL] * _BALL_SCALE[:, None]
        leaves["own"][:] = _own(seen)
        for side in (0, 1):
            seats = slice(side * team, (side + 1) * team)
            leaves["ball"][:, seats] = ball[:, None, :, side]
            pads = seen.cooldown if side == 0 else seen.cooldown[:, ::-1]
            leaves["pads"][:, seats] = pads[:, None] * np.float32(0.1)
            order = np.array(self._order[seats])  # [team, 2 room]
            theirs = cars[..., side][:, order]  # [n, team, 2 room, CAR]
            leaves["car"][:, seats] = theirs[:, :, 0]
            leaves["others"][:, seats] = theirs[:, :, 1:]
            if self._rich:
                self._relate(seen, side, seats, order, leaves)
        if self._rich:
            leaves["held"][:] = held
            leaves["clock"][:] = clock[:, None]
        return out

    def _cars(self, seen: Scene) -> Floats:
        """[n, C + 1, CAR, 2]; the last is a car that is not there."""
        n, C = seen.cars.shape[:2]
        cars = np.zeros((n, C + 1, CAR, 2), np.float32)
        cars[:, :C, :16] = seen.cars[:, :, _PHYSICS] * _PHYSICS_SCALE[:, None]
        cars[:, :C, 16] = seen.flags[:, :, FLAG["demo_respawn_timer"], None]
        cars[:, :C, 17] = seen.cars[:, :, scene.ON_GROUND]
        cars[:, :C, 18] = seen.flags[:, :, FLAG["time_spent_boosting"], None] > 0
        cars[:, :C, 19] = seen.flags[:, :, FLAG["supersonic_time"], None] > 0
        return cars

    def _relate(
        self,
        seen: Scene,
        side: int,
        seats: slice,
        order: NDArray[np.int64],
        leaves: dict[str, NDArray[np.generic]],
    ) -> None:
        """From inside the cars of one team."""
        cars, ball = seen.cars[:, :, :, side], seen.ball[:, None, :, side]
        mine = cars[:, seats]  # [n, team, 36]
        axes = np.stack((mine[..., scene.FORWARD], mine[..., scene.RIGHT], mine[..., scene.UP]), axis=2)
        position, velocity = mine[..., scene.POSITION], mine[..., scene.VELOCITY]
        to_ball = ball[..., scene.BALL_POSITION] - position
        distance = np.linalg.norm(to_ball, axis=-1, keepdims=True)
        outward = np.stack(
            (
                to_ball,
                ball[..., scene.BALL_VELOCITY] - velocity,
                velocity,
                _GOALS[0] - position,
                _GOALS[1] - position,
            ),
            axis=2,
        )
        inward = np.einsum("ntax,ntvx->ntva", axes, outward) * np.float32(_DISTANCE)  # [n, team, 5, 3]
        facing = inward[:, :, 0, :1] / np.maximum(distance * np.float32(_DISTANCE), np.float32(1e-6))
        height = position[..., 2:] * np.float32(1 / field.CEILING_Z)
        relative = (inward.reshape(*inward.shape[:2], 15), distance * np.float32(_DISTANCE), facing, height)
        leaves["relative"][:, seats] = np.concatenate(relative, axis=-1)
        others = np.concatenate((cars, np.zeros_like(cars[:, :1])), axis=1)[
            :, order[:, 1:]
        ]  # [n, team, 2 room - 1, 36]
        apart = np.stack((others[..., scene.POSITION] - position[:, :, None], others[..., scene.VELOCITY]), axis=3)
        apart[..., 1, :] -= velocity[:, :, None]
        inside = np.einsum("ntax,ntovx->ntova", axes, apart) * np.float32(_DISTANCE)
        there = (order[:, 1:] < seen.cars.shape[1])[None, :, :, None]
        leaves["others_relative"][:, seats] = inside.reshape(*inside.shape[:3], 6) * there


def _own(seen: Scene) -> Floats:
    """[n, C, 9]"""
    flag = {name: seen.flags[:, :, index] for name, index in FLAG.items()}
    holding, flipped, doubled = (flag[name] != 0 for name in ("last_controls.jump", "has_flipped", "has_double_jumped"))
    airborne = seen.cars[:, :, scene.ON_GROUND, 0] == 0
    can_flip = airborne & ~holding & ~doubled & ~flipped & (flag["air_time_since_jump"] < field.DOUBLE_JUMP_S)
    return np.stack(
        (
            flag["last_controls.jump"],
            flag["handbrake_val"],
            flag["has_jumped"],
            flag["is_jumping"],
            flag["has_flipped"],
            flipped & (flag["flip_time"] < field.FLIP_S),
            flag["has_double_jumped"],
            can_flip,
            flag["air_time_since_jump"],
        ),
        axis=-1,
        dtype=np.float32,
    )


def _order(seat: int, team: int, room: int) -> list[int]:
    """Which cars a seat lists, itself first; 2 * team stands for one that is not there."""
    nobody, side = 2 * team, seat // team
    sides = [range(team), range(team, 2 * team)]
    mates = [car for car in sides[side] if car != seat]
    spare = [nobody] * (room - team)
    return [seat, *mates, *spare, *sides[1 - side], *spare]
