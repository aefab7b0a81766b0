"""The results of a search so far: payoffs of joint actions by world. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus.policies import matrix_games

Floats = NDArray[np.float64]


class Tally:
    """Payoffs [own, foe] of each world, and how much each side's policy favours its actions."""

    def __init__(self, own: Sequence[int], own_bias: Floats | None = None) -> None:
        self.own = list(own)
        self.payoffs: list[Floats] = []
        self._own_bias = own_bias
        self._foe_bias: list[Floats] = []

    def add(self, cells: Iterable[tuple[int, int, int, float]], foe_bias: Sequence[Floats] | None = None) -> None:
        """Add worlds from cells (world, own, foe, payoff). Actions of the foe without a payoff for each own action are
        left out, and worlds without such an action."""
        worlds: dict[int, dict[int, dict[int, float]]] = {}
        for world, i, j, payoff in cells:
            worlds.setdefault(world, {}).setdefault(j, {})[i] = payoff
        for world, columns in worlds.items():
            whole = [j for j, column in columns.items() if len(column) == len(self.own)]
            if not whole:
                continue
            self.payoffs.append(np.array([[columns[j][i] for j in whole] for i in range(len(self.own))]))
            bias = np.zeros(len(whole)) if foe_bias is None else foe_bias[world][whole]
            self._foe_bias.append(bias)

    def mixture(self) -> Floats:
        """Return the mixture over own actions. Call it after at least one world was added."""
        return matrix_games.solve(self.payoffs, own_bias=self._own_bias, foe_bias=self._foe_bias)

    def best(self) -> int:
        """Return the action that is most probable in the mixture."""
        return self.own[int(self.mixture().argmax())]
