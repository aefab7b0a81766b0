"""Keeps the rows of matches while they are played, for matches that cannot be played again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.data.rows import Rows
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending


@dataclass(frozen=True, slots=True)
class SeenDecisions:
    """The observations of one seat in one match. The actions are in the ledger."""

    obs: list[NDArray[np.uint8]]
    legal: list[NDArray[np.uint8]]  # eight actions a byte
    reward: list[float]  # earned between each decision and the next

    def __len__(self) -> int:
        return len(self.obs)


class LiveRows:
    """Collects the decisions of all rows of a fleet, a decision at a time. Use it where matches are slow (servers)."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._decisions: dict[int, SeenDecisions] = {}

    def choose(self, arrivals: Arrivals) -> None:
        """Keep what these rows see, and complete their previous decisions with the reward."""
        legal = np.packbits(arrivals.legal, axis=1, bitorder="little")
        for index, row in enumerate(arrivals.row.tolist()):
            decisions = self._decisions.setdefault(row, SeenDecisions([], [], []))
            if len(decisions):
                decisions.reward[-1] = float(arrivals.reward[index])
            decisions.obs.append(arrivals.obs[index].copy())
            decisions.legal.append(legal[index])
            decisions.reward.append(0.0)

    def end(self, ending: Ending) -> list[SeenDecisions]:
        """Return the decisions of each seat of a match that ended, and forget them."""
        seats = [self._decisions.pop(row, SeenDecisions([], [], [])) for row in ending.rows.tolist()]
        for decisions, reward in zip(seats, ending.reward.tolist(), strict=True):
            if len(decisions):
                decisions.reward[-1] = reward
        return seats

    def rows(self, matches: Sequence[Sequence[SeenDecisions]], action: NDArray[np.int32]) -> Rows:
        """Return the rows of some matches. `action` has their actions, match after match and seat after seat."""
        seats = [decisions for match in matches for decisions in match if len(decisions)]
        stops = np.cumsum([len(decisions) for decisions in seats], dtype=np.int64)
        ends, opens = np.zeros(len(action), np.bool_), np.zeros(len(action), np.bool_)
        ends[stops - 1] = True
        opens[stops[:-1]] = True
        opens[:1] = True
        obs = [row for decisions in seats for row in decisions.obs]
        legal = [bits for decisions in seats for bits in decisions.legal]
        reward = [each for decisions in seats for each in decisions.reward]
        return Rows(
            np.array(obs, np.uint8).reshape(-1, self._spec.obs.nbytes),
            np.array(legal, np.uint8).reshape(-1, -(-self._spec.actions // 8)),
            action,
            np.array(reward, np.float32),
            ends,
            opens,
            np.arange(len(matches), dtype=np.int32),
        )
