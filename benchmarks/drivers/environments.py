"""Environments to measure with: 256 numbers to see, 16 actions, episodes of about 100 steps, and a step that waits or
that costs next to nothing. Known to every contestant by the same names."""

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
    """Does nothing, as quickly as Python can."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (FLOATS,), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(ACTIONS)  # Any: of int or np.int64, as Gymnasium's version has it

    def __init__(self) -> None:
        self._shown = np.random.default_rng(1).uniform(-1, 1, (64, FLOATS)).astype(np.float32)
        self._left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._left = STEPS + int(self.np_random.integers(-10, 11))  # so that episodes do not end all at once
        return self._shown[0], {}

    def step(self, action: int) -> Step:
        self._left -= 1
        return self._shown[self._left % 64], float(action == 3), self._left <= 0, False, {}


class Straggler(Idle):
    """Waits in every step for what a simulator elsewhere would take: mostly little, now and then very long."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        shown = super().reset(seed=seed)
        self._waits = np.random.default_rng()  # never the same for two, whatever seeds they are given
        return shown

    def step(self, action: int) -> Step:
        time.sleep(float(self._waits.lognormal(math.log(MEAN_S) - SIGMA**2 / 2, SIGMA)))
        return super().step(action)


def make(name: str) -> gymnasium.Env[Any, Any]:
    """idle, straggler, or an id that Gymnasium knows."""
    own: dict[str, type[Idle]] = {"idle": Idle, "straggler": Straggler}
    return own[name]() if name in own else gymnasium.make(name, disable_env_checker=True)


def game_of(name: str) -> str:
    """The same as a game of ours."""
    own = {"idle": "benchmarks.drivers.environments:Idle", "straggler": "benchmarks.drivers.environments:Straggler"}
    return f"gymnasium:{own.get(name, name)}"
