"""Scripted opponents. They choose for many rows at once."""

from __future__ import annotations

import json

import numpy as np

from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class RandomPolicy:
    """Names any number. Its random generator is saved and restored with a run."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._actions = spec.actions
        self._random = np.random.default_rng(seed)

    def act(self, arrivals: Arrivals) -> Choices:
        return Choices.scripted(self._random.integers(0, self._actions, len(arrivals), np.int32))

    def state(self) -> str:
        return json.dumps(self._random.bit_generator.state)

    def restore(self, state: str) -> None:
        self._random.bit_generator.state = json.loads(state)


class ExactPolicy:
    """Names the number that it sees. Nobody can beat it."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        return Choices.scripted(self._spec.obs.leaf(arrivals.obs, "number").astype(np.int32))
