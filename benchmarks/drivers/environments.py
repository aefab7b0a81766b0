"""Environments for benchmarks: 256 numbers, 16 actions, episodes of about 100 steps.

A step either waits or costs almost nothing. All contestants use the same names for them.
"""

from __future__ import annotations

import math
import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

FLOATS, ACTIONS, STEPS = 256, 16, 100
MEAN_S, SIGMA = 0.005, 1.5  # of the lognormal wait

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class Idle(gymnasium.Env[NDArray[np.float32], int]):
    """An environment that does nothing, as quickly as Python can."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (FLOATS,), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(ACTIONS)  # Any: of int or np.int64, as Gymnasium's version has it

    def __init__(self) -> None:
        self._observations = np.random.default_rng(1).uniform(-1, 1, (64, FLOATS)).astype(np.float32)
        self._steps_left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._steps_left = STEPS + int(self.np_random.integers(-10, 11))  # so that episodes do not end all at once
        return self._observations[0], {}

    def step(self, action: int) -> Step:
        self._steps_left -= 1
        return self._observations[self._steps_left % 64], float(action == 3), self._steps_left <= 0, False, {}


class Straggler(Idle):
    """An environment whose steps sleep for a lognormal time, like a remote simulator."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        start = super().reset(seed=seed)
        self._waits = np.random.default_rng()  # never the same for two, whatever seeds they are given
        return start

    def step(self, action: int) -> Step:
        time.sleep(float(self._waits.lognormal(math.log(MEAN_S) - SIGMA**2 / 2, SIGMA)))
        return super().step(action)


def make(name: str) -> gymnasium.Env[Any, Any]:
    """Make `idle`, `straggler`, or an environment by its Gymnasium id."""
    own: dict[str, type[Idle]] = {"idle": Idle, "straggler": Straggler}
    return own[name]() if name in own else gymnasium.make(name, disable_env_checker=True)


def game_of(name: str) -> str:
    """Return the same environment as a ludus game."""
    own = {"idle": "benchmarks.drivers.environments:Idle", "straggler": "benchmarks.drivers.environments:Straggler"}
    return f"gymnasium:{own.get(name, name)}"
