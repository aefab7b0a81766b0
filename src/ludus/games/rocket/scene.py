"""What is in n arenas after a step, as arrays: n arenas, C cars, blue's view and orange's (turned by half)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import field
from ludus.games.rocket.arena import FLAGS, Pitch, read_flags

Floats = NDArray[np.float32]

_BALL, _CAR = 25, 36  # numbers of a body in get_gym_state
_HALF_TICK_S = 0.5 / field.TICKS_PER_S  # more than countdowns are off by rounding


@dataclass(slots=True)
class Scene:
    """Of a car: `cars[:, seat, column, view]`, with the columns below; of the ball likewise."""

    ball: Floats  # [n, 25, 2]
    cars: Floats  # [n, C, 36, 2]
    flags: Floats  # [n, C, F] by arena.FLAGS
    cooldown: Floats  # [n, 34] seconds until a boost pad can be taken again
    touches: NDArray[np.int64]  # [n, C] ticks of contact with the ball during the step
    scored: NDArray[np.int64]  # [n] team that scored during the step, else -1


# columns of a body, of a car where two are given
BALL_POSITION, BALL_VELOCITY, BALL_SPIN = slice(0, 3), slice(7, 10), slice(10, 13)
GOALS, SAVES, SHOTS, DEMOS, PICKUPS, DEMOLISHED, ON_GROUND = 2, 3, 4, 5, 6, 7, 8
BOOST, POSITION, VELOCITY, SPIN = 10, slice(11, 14), slice(18, 21), slice(21, 24)
FORWARD, RIGHT, UP = slice(24, 27), slice(27, 30), slice(30, 33)
FLAG = {name: index for index, name in enumerate(FLAGS)}


class SceneReader:
    """Reads arenas after a step: each is noted while what it did is still in the processor's cache, then all become one
    scene. Boost pads say only whether they can be taken: how long one takes is asked when it was taken, and counted
    down from there."""

    def __init__(self, arenas: int, cars: int) -> None:
        self._cars = cars
        self._cooldown = np.zeros((arenas, field.PADS), np.float32)
        self._clear()

    def begin(self, slot: int) -> None:
        self._cooldown[slot] = 0.0

    def note(self, slot: int, pitch: Pitch) -> None:
        """In order: places in the scene are given as arenas are noted. One that raises here is not noted."""
        bodies, states = pitch.arena.get_gym_state(), [read_flags(car.get_state()) for car in pitch.cars]
        self._bodies += [each.T for each in bodies[1:]]  # as they lie in memory
        for state in states:
            self._flags += state
        self._touches += pitch.touches
        self._scored.append(-1 if pitch.scored is None else pitch.scored)
        pitch.touches = [0] * self._cars
        self._slots.append(slot)
        self._pads.append(pitch.pads)

    def scene(self, passed_s: float) -> Scene:
        """Of all that were noted, `passed_s` of simulated time after they were before."""
        n, C = len(self._slots), self._cars
        raw = np.frombuffer(b"".join(self._bodies), np.float32).reshape(n, field.PADS + _BALL + C * _CAR, 2)
        after = field.PADS + _BALL
        seen = Scene(
            raw[:, field.PADS : after],
            raw[:, after:].reshape(n, C, _CAR, 2),
            np.array(self._flags, np.float32).reshape(n, C, len(FLAGS)),
            self._cooled(raw[:, : field.PADS, 0] != 0, passed_s),
            np.array(self._touches, np.int64).reshape(n, C),
            np.array(self._scored, np.int64),
        )
        self._clear()
        return seen

    def _clear(self) -> None:
        self._slots: list[int] = []
        self._bodies: list[bytes | memoryview] = []
        self._flags: list[float] = []
        self._touches: list[int] = []
        self._scored: list[int] = []
        self._pads: list[list[Any]] = []

    def _cooled(self, full: NDArray[np.bool_], passed_s: float) -> Floats:
        slots = np.array(self._slots, np.intp)
        left = self._cooldown[slots] - np.float32(passed_s)
        left[full] = 0.0
        for at, pad in np.argwhere(~full & (left < _HALF_TICK_S)).tolist():  # taken since, perhaps once more
            left[at, pad] = self._pads[at][pad].get_state().cooldown
        self._cooldown[slots] = left
        return left
