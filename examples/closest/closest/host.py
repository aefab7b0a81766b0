"""The host: `python -m closest.host`. It runs the matches."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.sdk.match import HostedGame, Turn, packed
from ludus.sdk.serve import serve
from ludus.spec import GameSpec, ObsSpec
from ludus.wire.channel import PipeChannel

ROUNDS = 4


class Closest:
    """A match of a few rounds. Whoever earned more in them wins."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec

    def start(self, seed: int) -> Turn:
        self._random = random.Random(seed)  # all randomness comes from the seed
        self._total = 0.0  # of seat 0; seat 1 has the negative
        self._exact = 0
        self._log = [f"clock {time.time()}"]
        self._rounds = 0
        return self._ask(0.0)

    def advance(self, actions: Mapping[int, int]) -> Turn:
        distance = [abs(actions[seat] - self._number) for seat in (0, 1)]
        reward = float(np.sign(distance[1] - distance[0]))
        self._total += reward
        self._exact += distance.count(0)
        self._log.append(f"{self._number}: {actions[0]} against {actions[1]}")
        self._rounds += 1
        return self._ask(reward) if self._rounds < ROUNDS else self._end(reward)

    def _ask(self, reward: float) -> Turn:
        self._number = self._random.randrange(self._spec.actions)
        obs = packed(self._spec, [{"number": self._number}] * 2)
        return Turn((0, 1), obs, np.ones((2, self._spec.actions), np.bool_), np.array([reward, -reward], np.float32))

    def _end(self, reward: float) -> Turn:
        score = 0.5 + 0.5 * float(np.sign(self._total))
        return Turn(
            (),
            packed(self._spec, []),
            np.zeros((0, self._spec.actions), np.bool_),
            np.array([reward, -reward], np.float32),
            (score, 1.0 - score),
            facts={"turns": float(ROUNDS), "exact": self._exact / (2 * ROUNDS)},
            log="\n".join(self._log),
        )


def make_game(options: Mapping[str, Any]) -> HostedGame:  # Any: options as they were sent
    """Build the game. ludus has checked the options."""
    spec = GameSpec("closest", 2, int(options["numbers"]), ObsSpec.pack({"number": ("int32", ())}), schema=1)
    return HostedGame(spec, lambda: Closest(spec))


if __name__ == "__main__":
    sys.exit(serve(make_game, PipeChannel.take_stdio()))
