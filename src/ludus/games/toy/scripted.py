"""Scripted opponents for the toy games."""

from __future__ import annotations

import json

import numpy as np

from ludus.games.toy.matches import best_actions
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class RandomPolicy:
    """Every legal action is equally likely."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, arrivals: Arrivals) -> Choices:
        draws = self._random.random(arrivals.legal.shape, np.float32)
        return _scripted(np.where(arrivals.legal, draws, -1.0).argmax(axis=1).astype(np.int32))

    def state(self) -> str:
        return json.dumps(self._random.bit_generator.state)  # its integers have 128 bits

    def restore(self, state: str) -> None:
        self._random.bit_generator.state = json.loads(state)


class PerfectPolicy:
    """Plays the known answer."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        return _scripted(best_actions(self._spec, arrivals.obs))


def _scripted(action: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Choices:
    zeros = np.zeros(len(action), np.float32)
    return Choices(action, zeros, zeros)
