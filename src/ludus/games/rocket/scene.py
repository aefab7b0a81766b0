"""The state of n arenas with C cars after a step, as arrays, in blue's view and in orange's (rotated by 180
degrees)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from operator import attrgetter, itemgetter, methodcaller
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import field
from ludus.games.rocket.arena import AMOUNTS, SWITCHES, Pitch

Floats = NDArray[np.float32]
Where = NDArray[np.intp] | slice

_HALF_TICK_S = 0.5 / field.TICKS_PER_S  # more than countdowns are off by rounding
_STATE = np.dtype([("switches", np.bool_, len(SWITCHES)), ("amounts", np.float32, len(AMOUNTS))], align=True)
_pack = Struct(f"{len(SWITCHES)}?{len(AMOUNTS)}f").pack  # the same: it takes ten times as long to make truths floats
_flat, _cars = chain.from_iterable, attrgetter("cars")
_state = methodcaller("get_state")
_flags = attrgetter(*SWITCHES, *AMOUNTS)
_gym_state = methodcaller("read_state")
_arrays = itemgetter(slice(1, None))  # those of pads, ball and cars
_columns = methodcaller("tobytes", "F")  # as RocketSim's arrays lie in memory, so that it is one copy
_scored = attrgetter("scored")

# columns of a body, of a car where two are given
BALL, CAR = 25, 36  # numbers of a body in get_gym_state
BALL_POSITION, BALL_VELOCITY, BALL_SPIN = slice(0, 3), slice(7, 10), slice(10, 13)
GOALS, SAVES, SHOTS, DEMOS, PICKUPS, DEMOLISHED, ON_GROUND = 2, 3, 4, 5, 6, 7, 8
BOOST, POSITION, VELOCITY, SPIN = 10, slice(11, 14), slice(18, 21), slice(21, 24)
FORWARD, RIGHT, UP = slice(24, 27), slice(27, 30), slice(30, 33)
FLAG = {name: index for index, name in enumerate((*SWITCHES, *AMOUNTS))}


class SceneColumns:
    """Columns of the numbers of one arena with `cars` cars. Bodies and pads have two views side by side."""

    def __init__(self, cars: int) -> None:
        self.cars = cars
        self.pads = slice(0, 2 * field.PADS)  # whether they can be taken
        self.blue_pads = slice(0, self.pads.stop, 2)  # the same in blue's view alone
        self.ball = slice(self.pads.stop, self.pads.stop + 2 * BALL)
        self.bodies = slice(self.ball.stop, self.ball.stop + 2 * CAR * cars)
        self.flags = slice(self.bodies.stop, self.bodies.stop + len(FLAG) * cars)
        self.cooldown = slice(self.flags.stop, self.flags.stop + field.PADS)
        self.width = self.cooldown.stop


@dataclass(slots=True)
class Scene:
    """The state of n arenas as numbers. A number of a car is `cars[:, seat, column, view]`, with the columns above."""

    numbers: Floats  # [n, width] of SceneColumns; those below are views of it
    ball: Floats  # [n, 25, 2]
    cars: Floats  # [n, C, 36, 2]
    flags: Floats  # [n, C, F] by FLAG
    cooldown: Floats  # [n, 34] seconds until a boost pad can be taken again
    touches: NDArray[np.int64]  # [n, C] ticks of contact with the ball during the step
    scored: NDArray[np.int64]  # [n] team that scored during the step, else -1

    @classmethod
    def of(cls, numbers: Floats, at: SceneColumns, touches: NDArray[np.int64], scored: NDArray[np.int64]) -> Scene:
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
    """Reads arenas after all of them have made a step: passes over all arenas or cars within C, since Python's own code
    would have to be brought back into the processor's cache after each arena. Boost pads say only whether they can be
    taken: how long one takes is asked when it was taken, and counted down from there."""

    def __init__(self, arenas: int, cars: int) -> None:
        self._at = SceneColumns(cars)
        self._cooldown = np.zeros((arenas, field.PADS), np.float32)
        self._numbers = np.zeros((arenas, self._at.width), np.float32)

    def begin(self, slot: int) -> None:
        self._cooldown[slot] = 0.0

    def scene(self, slots: Sequence[int], pitches: Sequence[Pitch], passed_s: float) -> Scene:
        """Return the scene of these arenas, `passed_s` of simulated time after their previous scene. It is valid until
        the next call. Sets `returning` of arenas in which a car respawns within the next step. If the simulator raises,
        the exception is passed on and nothing has changed."""
        n, at = len(slots), self._at
        states = self._states(pitches)
        bodies = b"".join(map(_columns, _flat(map(_arrays, map(_gym_state, pitches)))))
        numbers = self._numbers[:n]
        numbers[:, : at.bodies.stop] = np.frombuffer(bodies, np.float32).reshape(n, at.bodies.stop)
        now = Scene.of(numbers, at, self._touches(pitches), np.fromiter(map(_scored, pitches), np.int64, n))
        now.flags[:, :, : len(SWITCHES)], now.flags[:, :, len(SWITCHES) :] = states["switches"], states["amounts"]
        self._cool(slots, pitches, now, passed_s)
        timers = now.flags[:, :, FLAG["demo_respawn_timer"]]
        if timers.any():
            back = (timers > 0) & (timers < passed_s + _HALF_TICK_S)
            for place in np.flatnonzero(back.any(axis=1)).tolist():
                pitches[place].returning = True
        return now

    def _states(self, pitches: Sequence[Pitch]) -> NDArray[np.void]:
        """[n, C]"""
        packed = b"".join(starmap(_pack, map(_flags, map(_state, _flat(map(_cars, pitches))))))
        return np.frombuffer(packed, _STATE).reshape(len(pitches), self._at.cars)

    def _touches(self, pitches: Sequence[Pitch]) -> NDArray[np.int64]:
        """[n, C]"""
        n, C = len(pitches), self._at.cars
        cars: list[int] = []
        for place, pitch in enumerate(pitches):
            if pitch.touches:
                cars += [place * C + seat for seat in pitch.touches]
                pitch.touches = []
        return np.bincount(np.array(cars, np.int64), minlength=n * C).reshape(n, C)

    def _cool(self, slots: Sequence[int], pitches: Sequence[Pitch], now: Scene, passed_s: float) -> None:
        where, cooldown = places(slots), now.cooldown
        full = now.numbers[:, self._at.blue_pads] != 0
        np.subtract(self._cooldown[where], np.float32(passed_s), out=cooldown)
        passed = cooldown < _HALF_TICK_S
        np.copyto(cooldown, 0.0, where=full)
        empty = passed > full  # since, perhaps once more
        for at, pad in zip(*(axis.tolist() for axis in empty.nonzero()), strict=True):
            cooldown[at, pad] = pitches[at].pads[pad].get_state().cooldown
        self._cooldown[where] = cooldown


def places(slots: Sequence[int]) -> Where:
    """Return an index for these slots: a slice if they are consecutive, which avoids a copy."""
    if slots and slots[-1] - slots[0] == len(slots) - 1 and list(slots) == list(range(slots[0], slots[-1] + 1)):
        return slice(slots[0], slots[-1] + 1)
    return np.array(slots, np.intp)
