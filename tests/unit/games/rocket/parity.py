"""The same match in ludus and in RLGym, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.unit.games.rocket.playing import matches

from ludus.games.rocket.options import RocketOptions
from ludus.games.rocket.scripted import drive, view_of
from ludus.games.rocket.starts import Body, Starts, StartState
from ludus.spec import GameSpec

STARTS = {"kickoff": 1.0, "random": 1.0, "ground": 1.0}
TIMER = 16  # of a car's numbers: seconds until it is back
HOLD = 3  # decisions for which an action is held: more happens than by drawing each


class _Place:
    """A state mutator of RLGym that sets a start of ours."""

    start: StartState

    def apply(self, state: Any, shared_info: Any) -> None:  # Any: RLGym has no types
        _move(state.ball, self.start.ball)
        for car, body, boost in zip(state.cars.values(), self.start.cars, self.start.boost, strict=True):
            _move(car.physics, body)
            car.boost_amount = boost
            car.on_ground = bool(body.position[2] < 20.0)


def _move(physics: Any, body: Body) -> None:
    physics.position = body.position.astype(np.float32)
    physics.linear_velocity = body.velocity.astype(np.float32)
    physics.angular_velocity = body.spin.astype(np.float32)
    physics.rotation_mtx = body.axes.T.astype(np.float32)


def engine(late: int) -> Any:
    from rlgym.rocket_league.sim import RocketSimEngine

    return RocketSimEngine(rlbot_delay=bool(late))


def rlgym(team: int, place: _Place, *, late: int, padding: int | None) -> Any:
    from rlgym.api import RLGym
    from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction
    from rlgym.rocket_league.done_conditions import GoalCondition, TimeoutCondition
    from rlgym.rocket_league.obs_builders import DefaultObs
    from rlgym.rocket_league.reward_functions import TouchReward
    from rlgym.rocket_league.state_mutators import FixedTeamSizeMutator, MutatorSequence

    return RLGym(
        MutatorSequence(FixedTeamSizeMutator(team, team), place),
        DefaultObs(zero_padding=padding),
        RepeatAction(LookupTableAction(), repeats=8),
        TouchReward(),
        engine(late),
        GoalCondition(),
        TimeoutCondition(1e6),
    )


def furthest_apart(team: int, steps: int, *, late: int = 1, room: int = 3, seed: int = 0) -> tuple[float, int, int]:
    """The largest difference between an observation of ours and of RLGym's, over so many steps in matches of random
    play and of chasers, how many of these ended by a goal, and touches. Raises where only one of the two has them. A
    match goes no further than until a demolished car returns: in RLGym, the clock decides where."""
    place = _Place()
    peer = rlgym(team, place, late=late, padding=room if room > team else None)
    options = RocketOptions(
        team_size=team, room=room, late_ticks=late, starts=STARTS, timeout_s=1e6, no_touch_s=1e6, rewards={"touch": 1.0}
    )
    ours, starts, generator = matches(options), Starts(STARTS, team), np.random.default_rng(seed)
    worst, goals, touches, match, over = 0.0, 0, 0, seed, True
    actions = np.zeros(2 * team, np.int32)
    for step in range(steps):
        if over or step % 400 == 399:
            match += 1
            place.start = starts.draw(match)
            peer.transition_engine = engine(late)  # one that was used before plays a little differently
            theirs, turn, over = peer.reset(), ours.start([0], [match]), False
            worst = max(worst, _apart(turn.obs[0], theirs))
        if step % HOLD == 0:
            actions = generator.integers(0, 90, 2 * team).astype(np.int32)
            if match % 2:  # else nobody would ever score
                view = view_of(ours._spec, turn.obs[0, :team])
                actions[:team] = drive(view, view.ball, arrive=np.zeros(team, np.bool_))
        theirs, touched, ended, _ = peer.step({agent: actions[at : at + 1] for at, agent in enumerate(peer.agents)})
        turn = ours.advance([0], actions[None])
        over = bool(turn.over)
        assert over == all(ended.values())
        reward = turn.over[0].reward if over else turn.reward[0]
        assert np.array_equal(reward, np.array([*touched.values()]) > 0)
        goals, touches = goals + over, touches + int(reward.sum())
        worst = max(worst, _apart(turn.obs[0], theirs))
        over = over or _returns(ours._spec, turn.obs[0])
    return worst, goals, touches


def _returns(spec: GameSpec, rows: NDArray[np.uint8]) -> bool:
    """Whether a car comes back within the next decision, or nearly."""
    timers = spec.obs.leaf(rows, "car").astype(np.float32)[:, TIMER]
    return bool(((timers > 0) & (timers < 9 / 120)).any())


def _apart(rows: Any, theirs: Any) -> float:
    expected = np.array([*theirs.values()])
    ours = rows.view(np.float32)[:, : expected.shape[1]]
    return float(np.abs(ours - expected).max())
