"""A game with named reward terms: `python -m tests.rewarding`. Two seats choose from 0 to 2; the larger choice scores.

`goal` is 1 for the larger choice and -1 for the smaller one, `boost` is a tenth of the choice.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ludus.games.toy.game import game as toy
from ludus.games.toy.options import ToyOptions
from ludus.processes.command import HostCommand, python_host
from ludus.sdk.match import GroupTerms, GroupTurn, HostedGame, Turn
from ludus.sdk.serve import serve
from ludus.spec import GameSpec, ObsSpec

SPEC = GameSpec("rewarding", 2, 3, ObsSpec.pack({"turn": ("float32", (1,))}), 1)
TURNS = 3


class Rewarding:
    def start(self, seed: int) -> Turn:
        self._turn = 0
        return Turn((0, 1), self._rows(2), _legal(2), np.zeros(2, np.float32))

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._turn += 1
        lead = float(np.sign(actions[0] - actions[1]))
        terms = {"goal": [lead, -lead], "boost": [actions[0] / 10, actions[1] / 10]}
        reward = np.array([terms["goal"], terms["boost"]]).sum(axis=0).astype(np.float32)
        if self._turn < TURNS:
            return Turn((0, 1), self._rows(2), _legal(2), reward, terms=terms)
        facts = {"turns": float(TURNS)}
        return Turn((), self._rows(0), _legal(0), reward, (0.5, 0.5), facts=facts, terms=terms)

    def _rows(self, n: int) -> np.ndarray[Any, np.dtype[np.uint8]]:  # Any: the shape
        rows = np.zeros((n, SPEC.obs.nbytes), np.uint8)
        SPEC.obs.leaf(rows, "turn")[:] = self._turn
        return rows


class RewardingGroup:
    """One such match, as a group that plays matches together."""

    def __init__(self, slots: int) -> None:
        assert slots == 1
        self._match = Rewarding()

    def start(self, slots: object, seeds: object) -> GroupTurn:
        return self._grouped(self._match.start(0))

    def advance(self, slots: object, actions: np.ndarray[Any, np.dtype[np.int32]]) -> GroupTurn:  # Any: the shape
        return self._grouped(self._match.advance(dict(enumerate(actions[0].tolist()))))

    def _grouped(self, turn: Turn) -> GroupTurn:
        earned = np.array([*turn.terms.values()], np.float32).T[None]
        terms = GroupTerms([*turn.terms], earned) if turn.terms else None
        last = replace(turn, terms={})
        over = {0: last} if turn.over else {}
        obs = np.zeros((1, 2, SPEC.obs.nbytes), np.uint8)
        return GroupTurn(obs, np.ones((1, 2, 3), np.bool_), turn.reward[None], over, {}, terms)


def _legal(n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:  # Any: the shape
    return np.ones((n, SPEC.actions), np.bool_)


def make_game(options: Mapping[str, Any]) -> HostedGame:  # Any: options of the toy game, which are ignored
    return HostedGame(SPEC, Rewarding)


def command(options: ToyOptions | None = None) -> HostCommand:
    root, path = str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")
    return replace(python_host("tests.rewarding"), env={"PYTHONPATH": os.pathsep.join(filter(None, (root, path)))})


game = replace(toy, name="rewarding", command=command)

if __name__ == "__main__":
    sys.exit(serve(make_game))
