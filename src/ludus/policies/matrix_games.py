"""Solves games of one simultaneous move by regret matching. Pure.

Axes: W worlds (what the foe may have, which it knows and we do not), A own actions, B actions of the foe.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 300


def solve(
    payoffs: Sequence[Floats],
    *,
    own_bias: Floats | None = None,
    foe_bias: Sequence[Floats] | None = None,
    rounds: int = ROUNDS,
) -> Floats:
    """Return our mixture [A] in the game in which world w has the payoffs `payoffs[w]` [A, B of that world], each world
    is equally likely, and only the foe knows which it is. What we gain, the foe loses.

    own_bias [A], foe_bias [B of each world]: added to the payoff of whoever plays the action, such as a multiple of the
    log-probabilities of a policy, so that actions which search cannot tell apart are played as the policy plays them.
    The mixture is the average over `rounds` of regret matching plus with linear weights.
    """
    W, A, B = len(payoffs), len(payoffs[0]), max(matrix.shape[1] for matrix in payoffs)
    values = np.zeros((W, A, B))
    foe_legal = np.zeros((W, B), np.bool_)
    foe_bonus = np.zeros((W, B))
    for world, matrix in enumerate(payoffs):
        values[world, :, : matrix.shape[1]] = matrix
        foe_legal[world, : matrix.shape[1]] = True
        if foe_bias is not None:
            foe_bonus[world, : matrix.shape[1]] = foe_bias[world]
    own_bonus = np.zeros(A) if own_bias is None else own_bias
    own_regret, foe_regret = np.zeros(A), np.zeros((W, B))
    total = np.zeros(A)
    own = np.full(A, 1 / A)
    foe = foe_legal / foe_legal.sum(1, keepdims=True)
    for t in range(1, rounds + 1):
        gains = np.einsum("wab,wb->a", values, foe) / W + own_bonus
        own_regret = np.maximum(own_regret + gains - own @ gains, 0)
        own = _mixture(own_regret, np.ones(A, np.bool_))
        losses = foe_bonus - np.einsum("a,wab->wb", own, values)
        foe_regret = np.maximum(foe_regret + losses - (foe * losses).sum(1, keepdims=True), 0) * foe_legal
        foe = _mixture(foe_regret, foe_legal)
        total += t * own
    mixture: Floats = total / total.sum()
    return mixture


def _mixture(regret: Floats, legal: NDArray[np.bool_]) -> Floats:
    """Return mixtures in proportion to regrets along the last axis, uniform where there are none."""
    sums = regret.sum(-1, keepdims=True)
    uniform = legal / legal.sum(-1, keepdims=True)
    mixture: Floats = np.where(sums > 0, regret / np.where(sums > 0, sums, 1.0), uniform)
    return mixture
