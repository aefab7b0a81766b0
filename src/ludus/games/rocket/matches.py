"""All matches of a host: stepped one by one, then read, observed and rewarded together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus.games.rocket import controls, field, scene
from ludus.games.rocket.arena import Pitch, controls_of
from ludus.games.rocket.observations import Observer
from ludus.games.rocket.options import RocketOptions, rewards_of
from ludus.games.rocket.rewards import Earlier
from ludus.games.rocket.scene import Floats, Scene, SceneReader, Where
from ludus.games.rocket.simulator import rocketsim
from ludus.games.rocket.starts import Starts
from ludus.sdk.match import GroupTerms, GroupTurn, Turn
from ludus.spec import GameSpec

SCHEMA = 1
TIED = 0.5
Ticks = NDArray[np.int64]
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
        self._table, self._controls = controls.table(), np.array(controls_of(self._simulator), np.object_)
        self._observer = Observer(options.feature_set, options.team_size, options.cars_room)
        self._starts = Starts(options.starts, options.team_size)
        self._rewards = rewards_of(options)
        self._passed_s = options.tick_skip / field.TICKS_PER_S
        self._reader = SceneReader(slots, options.seats)
        self._pitches: list[Pitch | None] = [self._new_pitch() for _ in range(slots)]
        C = options.seats
        self._before = _Before(slots, C)
        self._ticks = np.zeros(slots, np.int64)
        self._touched = np.zeros(slots, np.int64)  # the tick of the last touch
        self._touches = np.zeros((slots, C), np.int64)  # decisions during which a car touched the ball
        self._first = np.zeros((slots, C, scene.ON_GROUND), np.float32)  # counts at the begin of the match
        self._terms = np.zeros((slots, C, len(self._rewards.names)), np.float64)
        self._legal = np.ones((slots, C, spec.actions), np.bool_)  # every action, always
        self._legal.flags.writeable = False

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        failures: dict[int, BaseException] = {}
        for place, (slot, seed) in enumerate(zip(slots, seeds, strict=True)):
            try:
                pitch = self._pitches[slot] or self._new_pitch()
                self._pitches[slot] = None
                pitch.place(self._starts.draw(seed), seed)
                self._pitches[slot] = pitch
                self._reader.begin(slot)
            except Exception as error:  # of the simulator: the match is lost, and its arena is made anew
                failures[place] = error
        running, now = self._read(slots, failures, 0.0)
        where = scene.places([slots[place] for place in running])
        self._before.note(where, now)
        for array in (self._ticks, self._touched, self._touches, self._terms):
            array[where] = 0
        self._first[where] = now.cars[:, :, : scene.ON_GROUND, 0]
        reward = np.zeros((len(running), self._spec.seats), np.float32)
        return self._turn(len(slots), running, self._rows(where, now, None), reward, {}, failures)

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        failures = self._step(slots, actions)
        running, now = self._read(slots, failures, self._passed_s)
        played = [slots[place] for place in running]
        where = scene.places(played)
        earned = self._rewards.earned(self._before.of(where), now, self._passed_s)
        self._before.note(where, now)
        self._count(where, now, earned)
        rows = self._rows(where, now, actions[running])
        reward = earned.sum(axis=2)
        over = {running[at]: self._ended(played[at], now, at, rows[at], reward[at]) for at in self._over(where, now)}
        return self._turn(len(slots), running, rows, reward, over, failures, earned)

    def _step(self, slots: Sequence[int], actions: NDArray[np.int32]) -> dict[int, BaseException]:
        failures: dict[int, BaseException] = {}
        ticks, late = self._options.tick_skip, self._options.late_ticks
        for place, (slot, car_controls) in enumerate(zip(slots, self._controls[actions].tolist(), strict=True)):
            try:
                pitch = self._pitches[slot]
                assert pitch is not None
                pitch.step(car_controls, ticks, late)
            except Exception as error:  # as above
                failures[place], self._pitches[slot] = error, None
        return failures

    def _read(
        self, slots: Sequence[int], failures: dict[int, BaseException], passed_s: float
    ) -> tuple[list[int], Scene]:
        """Return the indices of the running matches, and their scene. Matches that cannot be read are voided."""
        try:
            return self._scene(slots, failures, passed_s)
        except Exception:  # of which of them is asked one by one
            for place, slot in enumerate(slots):
                try:
                    if (pitch := self._pitches[slot]) is not None:
                        pitch.read_state()
                except Exception as error:  # as above
                    failures[place], self._pitches[slot] = error, None
            return self._scene(slots, failures, passed_s)

    def _scene(
        self, slots: Sequence[int], failures: Mapping[int, BaseException], passed_s: float
    ) -> tuple[list[int], Scene]:
        running = [place for place in range(len(slots)) if place not in failures]
        played = [slots[place] for place in running]
        pitches = [pitch for slot in played if (pitch := self._pitches[slot]) is not None]
        return running, self._reader.scene(played, pitches, passed_s)

    def _count(self, where: Where, now: Scene, earned: Floats) -> None:
        self._ticks[where] += self._options.tick_skip
        touched = now.touches > 0
        self._touches[where] += touched
        self._terms[where] += earned
        self._touched[where] = np.where(touched.any(axis=1), self._ticks[where], self._touched[where])

    def _rows(self, where: Where, now: Scene, actions: NDArray[np.int32] | None) -> NDArray[np.uint8]:
        """Return the packed observations. `actions` is None for matches that begin."""
        if not self._observer.rich:
            return self._observer.rows(now)
        ticks, options = self._ticks[where], self._options
        since = ticks - self._touched[where]
        limits = np.array((options.timeout_s, options.no_touch_s)) * field.TICKS_PER_S
        clock = (np.stack((ticks, since), axis=1) / limits).astype(np.float32)
        nothing = np.zeros((len(ticks), self._spec.seats, len(controls.NAMES)), np.float32)
        return self._observer.rows(now, nothing if actions is None else self._table[actions], clock)

    def _over(self, where: Where, now: Scene) -> list[int]:
        """Return the indices of matches that ended by a goal or by a time limit."""
        ticks = self._ticks[where]
        late, idle = self._limits(ticks, self._touched[where])
        places: list[int] = np.flatnonzero((now.scored >= 0) | late | idle).tolist()
        return places

    def _limits(self, ticks: Ticks, touched: Ticks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        options = self._options
        late = ticks >= options.timeout_s * field.TICKS_PER_S
        return late, ticks - touched >= options.no_touch_s * field.TICKS_PER_S

    def _ended(self, slot: int, now: Scene, at: int, rows: NDArray[np.uint8], reward: Floats) -> Turn:
        """Return the last turn of a match. A truncated match includes its last observation, to bootstrap from its
        value."""
        scorer = int(now.scored[at])
        scored = scorer >= 0
        late, idle = self._limits(self._ticks[slot], self._touched[slot])
        facts = self._facts(slot, now, at)
        facts |= {"timeout": float(late and not scored), "no_touch": float(idle and not scored)}
        none = np.zeros((0, self._spec.actions), np.bool_)
        return Turn((), rows, none, reward, self._score(scorer), not scored, facts)

    def _score(self, scorer: int) -> tuple[float, ...]:
        size = self._options.team_size
        return tuple(TIED if scorer < 0 else float(seat // size == scorer) for seat in range(2 * size))

    def _facts(self, slot: int, now: Scene, at: int) -> dict[str, float]:
        """Return the facts of a match. Facts of one seat, such as its reward per term, are named `name@seat`."""
        ticks = float(self._ticks[slot])
        facts = {
            "turns": ticks / self._options.tick_skip,
            "seconds": ticks / field.TICKS_PER_S,
            "goals": float(now.scored[at] >= 0),
        }
        growth = (now.cars[at, :, : scene.ON_GROUND, 0] - self._first[slot]).sum(axis=0)
        facts |= {name: float(growth[column]) for name, column in COUNTED.items()}
        for seat in range(self._spec.seats):
            facts[f"touches@{seat}"] = float(self._touches[slot, seat])
            for term, name in enumerate(self._rewards.names):
                facts[f"reward_{name}@{seat}"] = float(self._terms[slot, seat, term])
        return facts

    def _turn(
        self,
        n: int,
        running: list[int],
        rows: NDArray[np.uint8],
        reward: Floats,
        over: Mapping[int, Turn],
        failures: Mapping[int, BaseException],
        earned: Floats | None = None,
    ) -> GroupTurn:
        legal, names = self._legal[:n], self._rewards.names
        if len(running) == n:
            terms = None if earned is None else GroupTerms(names, earned)
            return GroupTurn(rows, legal, reward, over, failures, terms)
        all_rows = np.zeros((n, *rows.shape[1:]), np.uint8)
        all_rewards = np.zeros((n, self._spec.seats), np.float32)
        all_rows[running], all_rewards[running] = rows, reward
        if earned is None:
            return GroupTurn(all_rows, legal, all_rewards, over, failures)
        all_earned = np.zeros((n, *earned.shape[1:]), np.float32)
        all_earned[running] = earned
        return GroupTurn(all_rows, legal, all_rewards, over, failures, GroupTerms(names, all_earned))

    def _new_pitch(self) -> Pitch:
        return Pitch(self._simulator, self._options.team_size)


class _Before:
    """The numbers of the previous scene that rewards need, by slot."""

    def __init__(self, slots: int, cars: int) -> None:
        self._ball_velocity = np.zeros((slots, 3), np.float32)
        self._tallies = np.zeros((slots, cars, scene.BOOST + 1), np.float32)
        self._flipped = np.zeros((slots, cars), np.float32)

    def note(self, where: Where, scene_now: Scene) -> None:
        now = Earlier.of(scene_now)
        self._ball_velocity[where], self._tallies[where] = now.ball_velocity, now.tallies
        self._flipped[where] = now.flipped

    def of(self, where: Where) -> Earlier:
        """Return the numbers for these slots. They may be views: use them before the next scene is stored."""
        return Earlier(self._ball_velocity[where], self._tallies[where], self._flipped[where])
