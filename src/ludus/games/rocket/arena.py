"""One arena of RocketSim with its cars, made once and used for match after match."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

from ludus.games.rocket import controls
from ludus.games.rocket.starts import Body, StartState, aloft
from ludus.wire.seeds import match_seed

OCTANE = 0
BLUE, ORANGE, NOBODY = 0, 1, -1
MAX_SEED = 2**31 - 1  # of RocketSim
BOOST_PER_S = 33.3  # as in RLGym; RocketSim has a third of 100

SWITCHES = (  # flags of a car's state that get_gym_state does not return
    "last_controls.jump",
    "has_jumped",
    "is_jumping",
    "has_flipped",
    "has_double_jumped",
    "is_supersonic",
)
AMOUNTS = ("handbrake_val", "flip_time", "air_time_since_jump", "demo_respawn_timer", "time_spent_boosting")


class Pitch:
    """`cars` are blue ones, then as many orange ones. Any: RocketSim's stubs are not those of its module."""

    def __init__(self, simulator: Any, team: int) -> None:
        self._simulator = simulator
        self.arena: Any = simulator.Arena(simulator.GameMode.SOCCAR)
        self.read_state: Callable[[], tuple[Any, ...]] = self.arena.get_gym_state
        rules = self.arena.get_mutator_config()
        rules.boost_used_per_second = BOOST_PER_S
        self.arena.set_mutator_config(rules)
        self._steer: Callable[[Any, Any], None] = simulator.Car.set_controls
        self._octane = simulator.CarConfig(OCTANE)
        self._team = team
        self.cars: list[Any] = []
        self.pads: list[Any] = self.arena.get_boost_pads()
        self._rest = simulator.CarControls()
        self._seat: dict[int, int] = {}  # by a car's id
        self.touches: list[int] = []  # the seat of each tick in contact with the ball since they were last read
        self.scored = NOBODY  # the team that scored
        self.returning = False  # whether a demolished car is back within the next step
        self._seed, self._returned = 0, 0
        self.arena.set_ball_touch_callback(self._touched)
        self.arena.set_goal_score_callback(self._goal)
        self.place(aloft(team))
        self.arena.step(1)  # the first one takes milliseconds

    def place(self, start: StartState, seed: int = 0) -> None:
        """Begin a match from a start state; the seed decides where demolished cars respawn.

        All cars are made anew, because the state of wheels and suspension cannot be set. The same start, seed and
        actions therefore give the same bits in any arena; with more than two cars not always (docs/games/rocket.md).
        """
        for car in reversed(self.cars):  # places in the simulator's lists are given out again last in, first out
            self.arena.remove_car(car)
        self.cars = [self.arena.add_car(side, self._octane) for side in (BLUE, ORANGE) for _ in range(self._team)]
        self._seat = {car.id: seat for seat, car in enumerate(self.cars)}
        self._set(start)
        self.touches = []
        self.scored = NOBODY
        self.returning = False
        self._seed, self._returned = seed, 0

    def step(self, car_controls: Sequence[Any], ticks: int, late: int) -> None:
        """Simulate `ticks` ticks. The first `late` of them use the controls of the previous step."""
        simulate = self._bring_back if self.returning else self.arena.step
        if late:
            simulate(late)
        deque(starmap(self._steer, zip(self.cars, car_controls, strict=True)), maxlen=0)
        if ticks > late:
            simulate(ticks - late)
        self.returning = False

    def _bring_back(self, ticks: int) -> None:
        """Simulate tick by tick, and respawn demolished cars one tick before RocketSim would: its own choice among the
        four respawn places uses a generator seeded by the clock."""
        for _ in range(ticks):
            for car in self.cars:
                state = car.get_state()
                if state.is_demoed and state.demo_respawn_timer <= self.arena.tick_time:
                    car.respawn(match_seed(self._seed, self._returned) & MAX_SEED)
                    self._returned += 1
            self.arena.step(1)

    def _set(self, start: StartState) -> None:
        simulator = self._simulator
        ball = simulator.BallState()
        self._move(ball, start.ball)
        self.arena.ball.set_state(ball)
        for car, body, boost in zip(self.cars, start.cars, start.boost.tolist(), strict=True):
            state = simulator.CarState()
            self._move(state, body)
            state.boost = boost
            state.is_on_ground = bool(body.position[2] < 20.0)
            car.set_state(state)
            car.set_controls(self._rest)
        full = simulator.BoostPadState()
        full.is_active = True
        for pad in self.pads:
            pad.set_state(full)

    def _move(self, state: Any, body: Body) -> None:
        vector = self._simulator.Vec
        state.pos, state.vel = vector(*body.position.tolist()), vector(*body.velocity.tolist())
        state.ang_vel = vector(*body.spin.tolist())
        state.rot_mat = self._simulator.RotMat(*(vector(*axis) for axis in body.axes.tolist()))

    def _touched(self, arena: Any, car: Any, data: Any) -> None:
        self.touches.append(self._seat[car.id])

    def _goal(self, arena: Any, team: int, data: Any) -> None:
        self.scored = int(team)


def controls_of(simulator: Any) -> list[Any]:
    """Return the table of actions as RocketSim's control objects. Made once, because there are 90."""
    table = []
    for row in controls.table().tolist():
        axes = dict(zip(controls.NAMES, row, strict=True))
        buttons = {name: bool(axes.pop(name)) for name in ("jump", "boost", "handbrake")}
        table.append(simulator.CarControls(**axes, **buttons))
    return table
