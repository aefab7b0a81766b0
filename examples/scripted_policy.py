"""Write a scripted policy and measure its win rate. This one plays nim perfectly.

python examples/scripted_policy.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ludus.evaluation import arena
from ludus.games import registry
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Policy


class LeaveMultiplesOfFour:
    """A vectorised policy: it chooses for many rows of many matches at once, each independent of the others."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        pile = self._spec.obs.leaf(arrivals.obs, "pile").argmax(axis=1)  # [n]: the leaf is one-hot
        winning_action = pile % 4 - 1  # action i takes i + 1; -1: the position is lost, whatever one takes
        action = np.where(winning_action >= 0, winning_action, arrivals.legal.argmax(axis=1)).astype(np.int32)
        return Choices.scripted(action)  # log-probabilities and values are 0: only learners need them


def main() -> None:
    game = registry.load("toy")

    def policies(spec: GameSpec) -> dict[str, Policy]:
        return {"mine": LeaveMultiplesOfFour(spec), "random": game.scripted["random"](spec, 1)}

    with tempfile.TemporaryDirectory() as logs:
        (result,) = arena.play(
            game,
            game.options(game="nim"),
            policies,
            agent="mine",
            opponents=("random",),
            matches=100,
            seed=7,
            log_dir=Path(logs),
            hosts=1,
        )
    print(f"{result.wins} of {result.matches} won against random")


if __name__ == "__main__":
    main()
