"""Scripted opponents for the toy games."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from ludus.games.toy.matches import best_actions
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class RandomPolicy:
    """Chooses uniformly among the legal actions."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, arrivals: Arrivals) -> Choices:
        draws = self._random.random(arrivals.legal.shape, np.float32)
        return Choices.scripted(np.where(arrivals.legal, draws, -1.0).argmax(axis=1).astype(np.int32))

    def state(self) -> str:
        return json.dumps(self._random.bit_generator.state)  # its integers have 128 bits

    def restore(self, state: str) -> None:
        self._random.bit_generator.state = json.loads(state)


class PerfectPolicy:
    """Plays the best action, which is known for every toy game."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec
        self._cues: dict[int, int] | None = {} if spec.layout["game"] == "recall" else None  # by row

    def act(self, arrivals: Arrivals) -> Choices:
        best = best_actions(self._spec, arrivals.obs)
        if self._cues is not None:
            self._recall(self._cues, arrivals, best)
        return Choices.scripted(best)

    def _recall(self, cues: dict[int, int], arrivals: Arrivals, best: NDArray[np.int32]) -> None:
        is_question = self._spec.obs.leaf(arrivals.obs, "cue").argmax(axis=1) > self._spec.actions
        for at, row in enumerate(arrivals.row.tolist()):
            if arrivals.opens[at]:
                cues[row] = int(best[at])
            if is_question[at]:
                best[at] = cues[row]
        best[~arrivals.legal[np.arange(len(best)), best]] = 0  # a cue is only to be seen

    def state(self) -> str:
        return json.dumps(list((self._cues or {}).items()))

    def restore(self, state: str) -> None:
        if self._cues is not None:
            self._cues.update({int(row): int(cue) for row, cue in json.loads(state)})
