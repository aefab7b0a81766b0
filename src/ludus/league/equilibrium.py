"""Analyses that ratings cannot provide: mixtures of members that no member beats, and how cyclic the payoff is. Pure.

Ratings assume that whoever beats A, who beats B, also beats B. In rock, paper and scissors every rating is the same and
says nothing. Nash averaging (Balduzzi et al. 2018) and alpha-rank (Omidshafiei et al. 2019) do not assume it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ludus.league.payoff import Payoff
from ludus.league.ratings import SCALE, Ratings

SLACK = 1e-6  # by how much a member may beat the mixture of Nash averaging, as a share of wins minus losses
WARNING_SIGMAS = 3.0  # a payoff is called cyclic if chance explains it less often than this
WARNING_SHARE = 0.05  # and if at least this share of it is cyclic

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cycles:
    """The cyclic part of a payoff (Hodge decomposition): what the ratings cannot explain."""

    share: float  # of the payoff's variance, sampling noise left out: 0 ratings explain all of it, 1 nothing
    sigmas: float  # how far the deviation from the ratings is above what chance explains, in standard deviations
    cycle: tuple[str, ...]  # three members of which each beats the next, and the last the first; empty if none do
    margin: float  # the smallest share of wins in that cycle, above a half

    @property
    def warning(self) -> str:
        """Return a sentence for the user if the ratings mislead, or an empty text."""
        if self.sigmas < WARNING_SIGMAS or self.share < WARNING_SHARE:
            return ""
        example = ""
        if self.cycle:
            a, b, c = self.cycle
            example = f": {a} beats {b}, who beats {c}, who beats {a} ({100 * (0.5 + self.margin):.0f}% or more each)"
        return (
            f"{100 * self.share:.0f}% of the payoff is cyclic, so ratings do not predict who beats whom{example}. "
            "See the Nash average and the worst opponents"
        )


def nash_average(win_shares: Reals) -> Reals:
    """Return the mixture of members with the highest entropy that no member beats on average (Nash averaging).

    `win_shares` is what the row's member wins against the column's; rows and columns must add up to 1. A member that
    is copied shares its weight with the copy, so results do not depend on how often similar members were added.

    Solves the convex dual by a barrier method: the mixture is the softmax of advantages against non-negative weights.
    """
    n = len(win_shares)
    advantage = win_shares - win_shares.T
    weights, sharpness = np.ones(n), 1.0
    while sharpness < 1e9:
        sharpness *= 8
        for _ in range(50):
            mixture, gradient = _dual_gradient(advantage, weights, sharpness)
            spread = advantage.T @ (mixture[:, None] * advantage) - np.outer(mixture @ advantage, mixture @ advantage)
            hessian = sharpness * spread + np.diag(1 / weights**2)
            step = np.asarray(np.linalg.solve(hessian, -gradient), np.float64)
            decrement = float(-gradient @ step)
            if decrement < 1e-9:
                break
            weights = _damped(advantage, weights, step, gradient, sharpness)
    return _softmax(advantage @ weights)


def _softmax(logits: Reals) -> Reals:
    exponentials = np.exp(logits - logits.max())
    return np.asarray(exponentials / exponentials.sum())


def _dual(advantage: Reals, weights: Reals, sharpness: float) -> float:
    logits = advantage @ weights
    highest = logits.max()
    log_sum = highest + np.log(np.exp(logits - highest).sum())
    return float(sharpness * (log_sum + SLACK * weights.sum()) - np.log(weights).sum())


def _dual_gradient(advantage: Reals, weights: Reals, sharpness: float) -> tuple[Reals, Reals]:
    mixture = _softmax(advantage @ weights)
    return mixture, sharpness * (mixture @ advantage + SLACK) - 1 / weights


def _damped(advantage: Reals, weights: Reals, step: Reals, gradient: Reals, sharpness: float) -> Reals:
    """Take a Newton step, shortened until the weights stay positive and the objective falls."""
    shrinking = step < 0
    most = float((-step[shrinking] / weights[shrinking]).max()) if shrinking.any() else 0.0
    scale = min(1.0, 0.99 / most) if most > 1e-9 else 1.0
    value, slope = _dual(advantage, weights, sharpness), float(gradient @ step)
    while scale > 1e-12 and _dual(advantage, weights + scale * step, sharpness) > value + 0.25 * scale * slope:
        scale /= 2
    return weights + scale * step


def alpha_rank(win_shares: Reals, alpha: float = 100.0, population: int = 50) -> Reals:
    """Return the share of time that an evolving population spends at each member (alpha-rank, one population).

    A population of copies of one member is invaded by a random other one, which takes over more likely the more it
    wins. `alpha` is the strength of this selection; `population` is the number of copies.
    """
    n = len(win_shares)
    if n == 1:
        return np.ones(1)
    gain = alpha * (win_shares.T - win_shares)  # [i, j]: how much better j does against i than i against j
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        takeover = np.where(np.abs(gain) < 1e-12, 1 / population, np.expm1(-gain) / np.expm1(-population * gain))
    takeover = np.where(gain * population < -700, 0.0, takeover) / (n - 1)
    np.fill_diagonal(takeover, 0.0)
    return _stationary(takeover)


def _stationary(rates: Reals) -> Reals:
    """Return the stationary distribution of a Markov chain with these transition rates, by elimination of states
    (Grassmann, Taksar and Heyman 1985), which subtracts nothing and is exact for tiny rates."""
    flows = np.maximum(rates, 1e-300)
    n = len(flows)
    for state in range(n - 1, 0, -1):
        out = flows[state, :state].sum()
        flows[:state, state] /= out
        flows[:state, :state] += np.outer(flows[:state, state], flows[state, :state])
    shares = np.zeros(n)
    shares[0] = 1.0
    for state in range(1, n):
        shares[state] = shares[:state] @ flows[:state, state]
        if shares[state] > 1e200:  # large values would overflow with many members
            shares[: state + 1] /= shares[state]
    return np.asarray(shares / shares.sum())


def cycles(payoff: Payoff, ratings: Ratings) -> Cycles:
    """Split the payoff into the part that ratings explain and the cyclic rest.

    The residuals of the fitted ratings add up to zero for each member (but for the prior), so they are the cyclic part.
    """
    i, j = np.triu_indices(len(payoff.names), 1)
    meetings = payoff.meetings[i, j]
    i, j, meetings = i[meetings > 0], j[meetings > 0], meetings[meetings > 0]
    members = len(np.unique(np.concatenate((i, j))))
    freedom = len(i) - (members - 1) if len(i) else 0
    expected = ratings.expected()
    shares = payoff.win_shares(expected)
    cycle, margin = _strongest_cycle(payoff.names, shares - 0.5)
    if freedom <= 0:
        return Cycles(0.0, 0.0, cycle, margin)
    share = expected[i, j]
    ties = (payoff.ties + payoff.ties.T)[i, j]
    variance = meetings * np.maximum(share * (1 - share) - ties / meetings / 4, 0.01) * ratings.match_ups[i, j]
    deviation = payoff.scores[i, j] - meetings * share
    cyclic = float((deviation**2 / variance).sum())
    distance = (ratings.elo[i] - ratings.elo[j]) / SCALE
    slope = meetings * share * (1 - share)  # change of the expected score per unit of log-odds
    transitive = float(((slope * distance) ** 2 / variance).sum())
    excess = max(cyclic - freedom, 0.0)
    rest = max(transitive - (members - 1), 0.0)
    return Cycles(excess / (excess + rest) if excess else 0.0, _sigmas(cyclic, freedom), cycle, margin)


def _sigmas(chi_squared: float, freedom: int) -> float:
    """Return the standard normal value of a chi-squared statistic (Wilson and Hilferty 1931)."""
    mean = 1 - 2 / (9 * freedom)
    return float(((chi_squared / freedom) ** (1 / 3) - mean) / sqrt(2 / (9 * freedom)))


def _strongest_cycle(names: tuple[str, ...], margins: Reals) -> tuple[tuple[str, ...], float]:
    """Return the three members whose weakest win in the circle is the highest, and that margin."""
    best = 0.0
    places: tuple[int, ...] = ()
    for i in range(len(names)):
        weakest = np.minimum(np.minimum(margins[i][:, None], margins), margins[:, i][None, :])
        j, k = np.unravel_index(int(weakest.argmax()), weakest.shape)
        if weakest[j, k] > best and len({i, int(j), int(k)}) == 3:
            best, places = float(weakest[j, k]), (i, int(j), int(k))
    return tuple(names[place] for place in places), best
