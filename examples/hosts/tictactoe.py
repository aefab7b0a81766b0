"""Tic-tac-toe as a host: the minimum that a game written in Python needs.

ludus hosts check -- python -m ludus.sdk examples/hosts/tictactoe.py
ludus train examples/hosts/tictactoe.yaml
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.errors import ConfigError
from ludus.sdk.match import HostedGame, Turn, packed
from ludus.spec import GameSpec, ObsSpec

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

# Two seats, nine actions. A seat sees its own stones and the other's, each as nine zeros and ones.
SPEC = GameSpec("tictactoe", 2, 9, ObsSpec.pack({"own": ("float32", (9,)), "other": ("float32", (9,))}), schema=1)


class TicTacToe:
    """Plays one match at a time: `start` returns the first turn, `advance` takes actions and returns the next."""

    def __init__(self, random_openings: int) -> None:
        self._random_openings = random_openings

    def start(self, seed: int) -> Turn:
        draw = random.Random(seed)  # everything that is random comes from the seed
        self._board = [-1] * 9
        self._seat = 0
        for square in draw.sample(range(9), self._random_openings):
            self._board[square] = self._seat
            self._seat = 1 - self._seat
        return self._ask()

    def advance(self, actions: Mapping[int, int]) -> Turn:
        seat = self._seat
        self._board[actions[seat]] = seat
        if any(all(self._board[square] == seat for square in line) for line in LINES):
            return self._end(winner=seat)
        if -1 not in self._board:
            return self._end(winner=None)
        self._seat = 1 - seat
        return self._ask()

    def _ask(self) -> Turn:
        board, seat = np.array(self._board), self._seat
        obs = packed(SPEC, [{"own": board == seat, "other": board == 1 - seat}])
        return Turn((seat,), obs, legal=(board == -1)[np.newaxis], reward=np.zeros(2, np.float32))

    def _end(self, winner: int | None) -> Turn:
        score = [0.5, 0.5]
        if winner is not None:
            score[winner], score[1 - winner] = 1.0, 0.0
        reward = 2 * np.array(score, np.float32) - 1
        nobody = packed(SPEC, [])
        stones = 9.0 - self._board.count(-1)
        return Turn((), nobody, np.zeros((0, 9), np.bool_), reward, tuple(score), facts={"turns": stones})


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Called once with the `options` of the configuration. Raise ConfigError to refuse them."""
    unknown = set(options) - {"random_openings"}
    if unknown:
        raise ConfigError(f"tictactoe has no option {min(unknown)}; it has random_openings")
    random_openings = options.get("random_openings", 0)
    if random_openings not in range(4):
        raise ConfigError(f"random_openings must be 0 to 3, seen {random_openings!r}")
    return HostedGame(SPEC, lambda: TicTacToe(random_openings))
