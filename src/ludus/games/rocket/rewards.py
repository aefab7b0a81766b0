"""Rewards as weighted terms, computed for each car from the scenes before and after a step. Pure.

Terms of an event (goal, touch, save ...) count it. Terms of a state (ball_to_goal, speed_to_ball, boost ...) are about
1 for each second at their best, whatever tick_skip is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ludus.config import load
from ludus.errors import ConfigError
from ludus.games.rocket import field, scene
from ludus.games.rocket.scene import FLAG, Floats, Scene
from ludus.suggestions import did_you_mean

SPARSE = ("goal", "concede")  # what is left of the terms when rewards are sparse
Numbers = NDArray[Any]  # Any: counts, truths or floats, [n, C]
_GOAL = np.array((0.0, field.BACK_WALL_Y, field.GOAL_Z), np.float32)


@dataclass(slots=True)
class Earlier:
    """The numbers of the scene before a step that terms need, in blue's view."""

    ball_velocity: Floats  # [n, 3]
    tallies: Floats  # [n, C, 11] the columns of a car up to its boost
    flipped: Floats  # [n, C]

    @classmethod
    def of(cls, now: Scene) -> Earlier:
        """Views."""
        velocity, tallies = now.ball[:, scene.BALL_VELOCITY, 0], now.cars[:, :, : scene.BOOST + 1, 0]
        return cls(velocity, tallies, now.flags[:, :, FLAG["has_flipped"]])


@dataclass(slots=True)
class Step:
    """A step of n arenas with C cars, in each car's own view."""

    before: Earlier
    after: Scene
    passed_s: float
    side: NDArray[np.int64]  # [C] team of a car

    def car(self, columns: slice) -> Floats:
        """[n, C, 3]"""
        team, cars = len(self.side) // 2, self.after.cars
        return np.concatenate((cars[:, :team, columns, 0], cars[:, team:, columns, 1]), axis=1)

    def ball(self, columns: slice) -> Floats:
        """[n, C, 3]"""
        return np.moveaxis(self.after.ball[:, columns], -1, 1)[:, self.side]

    def growth(self, column: int) -> Floats:
        """Return the increase [n, C] of a count or an amount of each car during the step."""
        growth: Floats = self.after.cars[:, :, column, 0] - self.before.tallies[:, :, column]
        return growth


def _goal(step: Step) -> Numbers:
    return np.equal(step.after.scored[:, None], step.side)


def _concede(step: Step) -> Numbers:
    return np.equal(step.after.scored[:, None], 1 - step.side)


def _touch(step: Step) -> Numbers:
    return step.after.touches > 0


def _touch_strength(step: Step) -> Numbers:
    change = step.after.ball[:, scene.BALL_VELOCITY, 0] - step.before.ball_velocity
    return np.where(step.after.touches > 0, np.linalg.norm(change, axis=1)[:, None] / field.BALL_MAX_SPEED, 0.0)


def _touch_height(step: Step) -> Numbers:
    height = step.after.ball[:, 2, 0] - field.BALL_REST_Z
    return np.where(step.after.touches > 0, height[:, None] / field.CEILING_Z, 0.0)


def _ball_to_goal(step: Step) -> Numbers:
    way = _GOAL - step.ball(scene.BALL_POSITION)
    return _along(step.ball(scene.BALL_VELOCITY), way) / field.BALL_MAX_SPEED * step.passed_s


def _speed_to_ball(step: Step) -> Numbers:
    way = step.ball(scene.BALL_POSITION) - step.car(scene.POSITION)
    return _along(step.car(scene.VELOCITY), way) / field.CAR_MAX_SPEED * step.passed_s


def _face_ball(step: Step) -> Numbers:
    way = step.ball(scene.BALL_POSITION) - step.car(scene.POSITION)
    return _along(step.car(scene.FORWARD), way) * step.passed_s


def _behind_ball(step: Step) -> Numbers:
    """Return whether each car is between the ball and its own goal."""
    return np.where(step.car(scene.POSITION)[..., 1] < step.ball(scene.BALL_POSITION)[..., 1], step.passed_s, 0.0)


def _speed(step: Step) -> Numbers:
    return np.asarray(np.linalg.norm(step.car(scene.VELOCITY), axis=-1)) * (step.passed_s / field.CAR_MAX_SPEED)


def _air(step: Step) -> Numbers:
    return np.where(step.after.cars[:, :, scene.ON_GROUND, 0] == 0, step.passed_s, 0.0)


def _boost(step: Step) -> Numbers:
    """Return the square root of the boost amount: the first units are worth the most."""
    boost: Numbers = np.sqrt(step.after.cars[:, :, scene.BOOST, 0] / 100.0)
    return boost * step.passed_s


def _boost_gain(step: Step) -> Numbers:
    return np.maximum(step.growth(scene.BOOST), 0.0) / 100.0


def _pickup(step: Step) -> Numbers:
    return step.growth(scene.PICKUPS)


def _save(step: Step) -> Numbers:
    return step.growth(scene.SAVES)


def _shot(step: Step) -> Numbers:
    return step.growth(scene.SHOTS)


def _demo(step: Step) -> Numbers:
    return step.growth(scene.DEMOS)


def _demoed(step: Step) -> Numbers:
    return np.maximum(step.growth(scene.DEMOLISHED), 0.0)


def _flip(step: Step) -> Numbers:
    return step.after.flags[:, :, FLAG["has_flipped"]] > step.before.flipped


TERMS: Mapping[str, Callable[[Step], Numbers]] = {
    "goal": _goal,
    "concede": _concede,
    "touch": _touch,
    "touch_strength": _touch_strength,
    "touch_height": _touch_height,
    "ball_to_goal": _ball_to_goal,
    "speed_to_ball": _speed_to_ball,
    "face_ball": _face_ball,
    "behind_ball": _behind_ball,
    "speed": _speed,
    "air": _air,
    "boost": _boost,
    "boost_gain": _boost_gain,
    "pickup": _pickup,
    "save": _save,
    "shot": _shot,
    "demo": _demo,
    "demoed": _demoed,
    "flip": _flip,
}


class RewardFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rewards, in YAML."""

    weights: dict[str, float]
    sparse: bool = False
    team_spirit: float = 0.0
    opponent_scale: float = 0.0


class Rewards:
    """`names` are the terms that count, in the order of their columns."""

    def __init__(self, rules: RewardFile, team: int) -> None:
        weights = rules.weights.items()
        active = {name: weight for name, weight in weights if weight and (not rules.sparse or name in SPARSE)}
        self.names = tuple(active)
        self._weights = np.array([*active.values()], np.float32)
        self._side = np.repeat((0, 1), team)
        self._team, self._spirit = team, np.float32(rules.team_spirit)
        self._opponent_scale = np.float32(rules.opponent_scale)

    def earned(self, before: Earlier, after: Scene, passed_s: float) -> Floats:
        """Return the weighted terms [n, C, terms]; their sum is the reward."""
        step = Step(before, after, passed_s, self._side)
        n, C = after.touches.shape
        out = np.empty((n, C, len(self.names)), np.float32)
        for index, name in enumerate(self.names):
            out[:, :, index] = TERMS[name](step)
        out *= self._weights
        if self._spirit:
            teams = out.reshape(n, 2, self._team, len(self.names))
            teams += self._spirit * (teams.mean(axis=2, keepdims=True) - teams)
        if self._opponent_scale:
            means = out.reshape(n, 2, self._team, len(self.names)).mean(axis=2, keepdims=True)
            out -= self._opponent_scale * np.repeat(means[:, ::-1], self._team, axis=2).reshape(out.shape)
        return out


def read_rewards(path: str) -> RewardFile:
    """Read a file of rewards. Raises ConfigError with the file and the cause."""
    try:
        reward_file = msgspec.convert(load.read(Path(path).expanduser()), RewardFile)
    except ConfigError as error:
        raise ConfigError(f"options.rewards_file: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"options.rewards_file: {path}: {error}") from error
    refuse_unknown(reward_file.weights, f"options.rewards_file: {path}: weights")
    return reward_file


def refuse_unknown(weights: Mapping[str, float], where: str) -> None:
    for name, weight in weights.items():
        if name not in TERMS:
            raise ConfigError(f"{where}: there is no term {name!r}; {did_you_mean(name, TERMS)}")
        if not np.isfinite(weight):
            raise ConfigError(f"{where}.{name}: is {weight}, expected a finite number")


def _along(vectors: Floats, way: Floats) -> Floats:
    """Return the components [n, C] of vectors along a direction."""
    length = np.maximum(np.linalg.norm(way, axis=-1), np.float32(1e-6))
    along: Floats = (vectors * way).sum(axis=-1) / length
    return along
