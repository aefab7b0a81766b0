"""What is in n arenas after a step, as arrays: n arenas, C cars, blue's view and orange's (turned by half)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import field
from ludus.games.rocket.arena import AMOUNTS, SWITCHES, Pitch

Floats = NDArray[np.float32]
Where = NDArray[np.intp] | slice

_HALF_TICK_S = 0.5 / field.TICKS_PER_S  # more than countdowns are off by rounding
_STATE = np.dtype([("switches", np.bool_, len(SWITCHES)), ("amounts", np.float32, len(AMOUNTS))], align=True)
_PACKED = f"{len(SWITCHES)}?{len(AMOUNTS)}f"  # the same for struct, which takes ten times as long to make truths floats
_as_it_lies = attrgetter("T")  # in memory: what RocketSim gives goes column by column

# columns of a body, of a car where two are given
BALL, CAR = 25, 36  # numbers of a body in get_gym_state
BALL_POSITION, BALL_VELOCITY, BALL_SPIN = slice(0, 3), slice(7, 10), slice(10, 13)
GOALS, SAVES, SHOTS, DEMOS, PICKUPS, DEMOLISHED, ON_GROUND = 2, 3, 4, 5, 6, 7, 8
BOOST, POSITION, VELOCITY, SPIN = 10, slice(11, 14), slice(18, 21), slice(21, 24)
FORWARD, RIGHT, UP = slice(24, 27), slice(27, 30), slice(30, 33)
FLAG = {name: index for index, name in enumerate((*SWITCHES, *AMOUNTS))}


class Columns:
    """Where the numbers of an arena with so many cars are in its row; bodies and pads have two views side by side."""

    def __init__(self, cars: int) -> None:
        self.cars = cars
        self.pads = slice(0, 2 * field.PADS)  # whether they can be taken
        self.ball = slice(self.pads.stop, self.pads.stop + 2 * BALL)
        self.bodies = slice(self.ball.stop, self.ball.stop + 2 * CAR * cars)
        self.flags = slice(self.bodies.stop, self.bodies.stop + len(FLAG) * cars)
        self.cooldown = slice(self.flags.stop, self.flags.stop + field.PADS)
        self.width = self.cooldown.stop


@dataclass(slots=True)
class Scene:
    """Of a car: `cars[:, seat, column, view]`, with the columns above; of the ball likewise."""

    numbers: Floats  # [n, width] of Columns; those below are views of it
    ball: Floats  # [n, 25, 2]
    cars: Floats  # [n, C, 36, 2]
    flags: Floats  # [n, C, F] by FLAG
    cooldown: Floats  # [n, 34] seconds until a boost pad can be taken again
    touches: NDArray[np.int64]  # [n, C] ticks of contact with the ball during the step
    scored: NDArray[np.int64]  # [n] team that scored during the step, else -1

    @classmethod
    def of(cls, numbers: Floats, at: Columns, touches: NDArray[np.int64], scored: NDArray[np.int64]) -> Scene:
        n = len(numbers)
        return cls(
            numbers,
            numbers[:, at.ball].reshape(n, BALL, 2),
            numbers[:, at.bodies].reshape(n, at.cars, CAR, 2),
            numbers[:, at.flags].reshape(n, at.cars, len(FLAG)),
            numbers[:, at.cooldown],
            touches,
            scored,
        )


class SceneReader:
    """Reads arenas after a step: each is noted while what it did is still in the processor's cache, then all become one
    scene. Boost pads say only whether they can be taken: how long one takes is asked when it was taken, and counted
    down from there."""

    def __init__(self, arenas: int, cars: int) -> None:
        self._at = Columns(cars)
        self._pack = Struct(_PACKED * cars).pack
        self._room = bytes(4 * (self._at.width - self._at.flags.start))  # for flags and cooldowns, in a row
        self._cooldown = np.zeros((arenas, field.PADS), np.float32)
        self._clear()

    def begin(self, slot: int) -> None:
        self._cooldown[slot] = 0.0

    def note(self, slot: int, pitch: Pitch) -> None:
        """In order: places in the scene are given as arenas are noted. One that raises here is not noted.

        Its numbers become bytes at once: what RocketSim makes for them is freed, and its memory is still near when the
        next arena asks for as much."""
        states = self._pack(*pitch.flags())
        row = b"".join([*map(_as_it_lies, pitch.arena.get_gym_state()[1:]), self._room])
        if pitch.touches:
            self._touches[len(self._rows)], pitch.touches = pitch.touches, []
        if pitch.scored is not None:
            self._scored[len(self._rows)] = pitch.scored
        self._rows.append(row)
        self._states.append(states)
        self._slots.append(slot)
        self._pitches.append(pitch)

    def scene(self, passed_s: float) -> Scene:
        """Of all that were noted, `passed_s` of simulated time after they were before."""
        n, at = len(self._rows), self._at
        numbers = np.frombuffer(bytearray().join(self._rows), np.float32).reshape(n, at.width)
        touches = np.zeros((n, at.cars), np.int64)
        for place, seats in self._touches.items():
            touches[place] = np.bincount(seats, minlength=at.cars)
        scored = np.full(n, -1, np.int64)
        for place, team in self._scored.items():
            scored[place] = team
        seen = Scene.of(numbers, at, touches, scored)
        states = np.frombuffer(b"".join(self._states), _STATE).reshape(n, at.cars)
        seen.flags[:, :, : len(SWITCHES)], seen.flags[:, :, len(SWITCHES) :] = states["switches"], states["amounts"]
        self._cool(numbers[:, at.pads][:, ::2] != 0, seen.cooldown, passed_s)
        self._clear()
        return seen

    def _clear(self) -> None:
        self._slots: list[int] = []
        self._rows: list[bytes] = []
        self._states: list[bytes] = []
        self._touches: dict[int, list[int]] = {}
        self._scored: dict[int, int] = {}
        self._pitches: list[Pitch] = []

    def _cool(self, full: NDArray[np.bool_], left: Floats, passed_s: float) -> None:
        where = places(self._slots)
        np.subtract(self._cooldown[where], np.float32(passed_s), out=left)
        np.copyto(left, 0.0, where=full)
        taken = ~full & (left < _HALF_TICK_S)  # since, perhaps once more
        if taken.any():
            for at, pad in np.argwhere(taken).tolist():
                left[at, pad] = self._pitches[at].pads[pad].get_state().cooldown
        self._cooldown[where] = left


def places(slots: Sequence[int]) -> Where:
    """An index of these: a slice where they follow one another, which reads without a copy."""
    if slots and slots[-1] - slots[0] == len(slots) - 1 and list(slots) == list(range(slots[0], slots[-1] + 1)):
        return slice(slots[0], slots[-1] + 1)
    return np.array(slots, np.intp)
