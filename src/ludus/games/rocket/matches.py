"""All matches of a host: stepped one by one, then read, observed and rewarded together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import controls, field, scene
from ludus.games.rocket.arena import Pitch, controls_of
from ludus.games.rocket.observations import Observer
from ludus.games.rocket.options import RocketOptions, rewards_of
from ludus.games.rocket.scene import Floats, Scene, SceneReader
from ludus.games.rocket.simulator import rocketsim
from ludus.games.rocket.starts import Starts
from ludus.hosting.match import GroupTurn, Turn
from ludus.spec import GameSpec

SCHEMA = 1
TIED = 0.5
COUNTED = {  # facts of a match, of all cars together
    "saves": scene.SAVES,
    "shots": scene.SHOTS,
    "demos": scene.DEMOS,
    "pickups": scene.PICKUPS,
}


def spec_of(options: RocketOptions) -> GameSpec:
    observer = Observer(options.feature_set, options.team_size, options.cars_room)
    layout = {
        "features": options.feature_set,
        "tick_skip": options.tick_skip,
        "teams": [0] * options.team_size + [1] * options.team_size,
    }
    size = options.team_size
    return GameSpec(f"rocket/{size}v{size}", options.seats, controls.ACTIONS, observer.obs, SCHEMA, layout)


class RocketMatches:
    def __init__(self, options: RocketOptions, spec: GameSpec, slots: int) -> None:
        self._options, self._spec = options, spec
        self._simulator = rocketsim(options.meshes)
        self._table, self._controls = controls.table(), controls_of(self._simulator)
        self._observer = Observer(options.feature_set, options.team_size, options.cars_room)
        self._starts = Starts(options.starts, options.team_size)
        self._rewards = rewards_of(options)
        self._passed_s = options.tick_skip / field.TICKS_PER_S
        self._reader = SceneReader(slots, options.seats)
        self._pitches: list[Pitch | None] = [self._made() for _ in range(slots)]
        C = options.seats
        self._before = _Before(slots, C)
        self._ticks = np.zeros(slots, np.int64)
        self._touched = np.zeros(slots, np.int64)  # the tick of the last touch
        self._touches = np.zeros((slots, C), np.int64)  # decisions during which a car touched the ball
        self._first = np.zeros((slots, C, scene.ON_GROUND), np.float32)  # counts at the begin of the match
        self._terms = np.zeros((slots, C, len(self._rewards.names)), np.float64)

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        lost: dict[int, BaseException] = {}
        for place, (slot, seed) in enumerate(zip(slots, seeds, strict=True)):
            try:
                pitch = self._pitches[slot] or self._made()
                self._pitches[slot] = None
                pitch.place(self._starts.draw(seed))
                self._pitches[slot] = pitch
                self._reader.begin(slot)
                self._reader.note(slot, pitch)
            except Exception as error:  # of the simulator: the match is lost, and its arena is made anew
                lost[place] = error
        kept = [place for place in range(len(slots)) if place not in lost]
        where = np.array(slots, np.intp)[kept]
        seen = self._read(where, 0.0)
        for array in (self._ticks, self._touched, self._touches, self._terms):
            array[where] = 0
        self._first[where] = seen.cars[:, :, : scene.ON_GROUND, 0]
        held = np.zeros((len(where), self._spec.seats, len(controls.NAMES)), np.float32)
        reward = np.zeros((len(where), self._spec.seats), np.float32)
        return self._turn(len(slots), kept, self._rows(where, seen, held), reward, {}, lost)

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        lost = self._step(slots, actions)
        kept = [place for place in range(len(slots)) if place not in lost]
        where = np.array(slots, np.intp)[kept]
        before = self._before.of(where)
        seen = self._read(where, self._passed_s)
        earned = self._rewards.earned(before, seen, self._passed_s)
        self._count(where, seen, earned)
        rows = self._rows(where, seen, self._table[actions[kept]])
        reward = earned.sum(axis=2)
        over = {kept[at]: turn for at, turn in self._over(where, seen, rows, reward).items()}
        return self._turn(len(slots), kept, rows, reward, over, lost)

    def _step(self, slots: Sequence[int], actions: NDArray[np.int32]) -> dict[int, BaseException]:
        lost: dict[int, BaseException] = {}
        ticks, late, table = self._options.tick_skip, self._options.late_ticks, self._controls
        for place, (slot, chosen) in enumerate(zip(slots, actions.tolist(), strict=True)):
            try:
                pitch = self._pitches[slot]
                assert pitch is not None
                pitch.step([table[each] for each in chosen], ticks, late)
                self._reader.note(slot, pitch)
            except Exception as error:  # as above
                lost[place], self._pitches[slot] = error, None
        return lost

    def _read(self, where: NDArray[np.intp], passed_s: float) -> Scene:
        seen = self._reader.scene(passed_s)
        self._before.note(where, seen)
        return seen

    def _count(self, where: NDArray[np.intp], seen: Scene, earned: Floats) -> None:
        self._ticks[where] += self._options.tick_skip
        touched = seen.touches > 0
        self._touches[where] += touched
        self._terms[where] += earned
        self._touched[where] = np.where(touched.any(axis=1), self._ticks[where], self._touched[where])

    def _rows(self, where: NDArray[np.intp], seen: Scene, held: Floats) -> NDArray[np.uint8]:
        ticks, options = self._ticks[where], self._options
        since = ticks - self._touched[where]
        limits = np.array((options.timeout_s, options.no_touch_s)) * field.TICKS_PER_S
        return self._observer.rows(seen, held, (np.stack((ticks, since), axis=1) / limits).astype(np.float32))

    def _over(self, where: NDArray[np.intp], seen: Scene, rows: NDArray[np.uint8], reward: Floats) -> dict[int, Turn]:
        """Those that ended by a goal, and those that a limit stops: no end, so that their last state goes with them."""
        options, ticks = self._options, self._ticks[where]
        scored = seen.scored >= 0
        late = ticks >= options.timeout_s * field.TICKS_PER_S
        idle = ticks - self._touched[where] >= options.no_touch_s * field.TICKS_PER_S
        found = {}
        for at in np.flatnonzero(scored | late | idle).tolist():
            facts = self._facts(int(where[at]), seen, at)
            facts |= {"timeout": float(late[at] and not scored[at]), "no_touch": float(idle[at] and not scored[at])}
            score = self._score(int(seen.scored[at]))
            none = np.zeros((0, self._spec.actions), np.bool_)
            found[at] = Turn((), rows[at], none, reward[at], score, not scored[at], facts)
        return found

    def _score(self, scorer: int) -> tuple[float, ...]:
        size = self._options.team_size
        return tuple(TIED if scorer < 0 else float(seat // size == scorer) for seat in range(2 * size))

    def _facts(self, slot: int, seen: Scene, at: int) -> dict[str, float]:
        """Of the match; what each seat earned by each term is its own (`name@seat`)."""
        ticks = float(self._ticks[slot])
        facts = {
            "turns": ticks / self._options.tick_skip,
            "seconds": ticks / field.TICKS_PER_S,
            "goals": float(seen.scored[at] >= 0),
        }
        grown = (seen.cars[at, :, : scene.ON_GROUND, 0] - self._first[slot]).sum(axis=0)
        facts |= {name: float(grown[column]) for name, column in COUNTED.items()}
        for seat in range(self._spec.seats):
            facts[f"touches@{seat}"] = float(self._touches[slot, seat])
            for term, name in enumerate(self._rewards.names):
                facts[f"reward_{name}@{seat}"] = float(self._terms[slot, seat, term])
        return facts

    def _turn(
        self,
        n: int,
        kept: list[int],
        rows: NDArray[np.uint8],
        reward: Floats,
        over: Mapping[int, Turn],
        lost: Mapping[int, BaseException],
    ) -> GroupTurn:
        legal = np.ones((n, self._spec.seats, self._spec.actions), np.bool_)
        if len(kept) == n:
            return GroupTurn(rows, legal, reward, over, lost)
        all_rows = np.zeros((n, *rows.shape[1:]), np.uint8)
        all_rewards = np.zeros((n, self._spec.seats), np.float32)
        all_rows[kept], all_rewards[kept] = rows, reward
        return GroupTurn(all_rows, legal, all_rewards, over, lost)

    def _made(self) -> Pitch:
        return Pitch(self._simulator, self._options.team_size)


class _Before:
    """What of the scene before a step rewards are made of."""

    def __init__(self, slots: int, cars: int) -> None:
        self._ball = np.zeros((slots, 25, 2), np.float32)
        self._cars = np.zeros((slots, cars, 36, 2), np.float32)
        self._flags = np.zeros((slots, cars, len(scene.FLAG)), np.float32)

    def note(self, where: NDArray[np.intp], seen: Scene) -> None:
        self._ball[where], self._cars[where], self._flags[where] = seen.ball, seen.cars, seen.flags

    def of(self, where: NDArray[np.intp]) -> Scene:
        nothing = np.zeros(0, np.int64)
        none = np.zeros((0, field.PADS), np.float32)
        return Scene(self._ball[where], self._cars[where], self._flags[where], none, nothing, nothing)
