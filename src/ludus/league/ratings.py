"""Ratings on the Elo scale: a Bradley-Terry model with ties and an advantage of the first side (Davidson 1970). Pure.

The log-odds of a win over a loss are (rating of the first side - rating of the second + advantage) / SCALE. Ratings are
the maximum of the posterior under a normal prior on each member's distance from the mean of all, so a member that never
lost has a finite rating. Members are frozen and the model uses counts only, so the order of matches does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ludus.league import newton
from ludus.league.payoff import PAIR_SCORES, Payoff
from ludus.metrics.intervals import Z_95

SCALE = 400 / log(10)  # Elo points per unit of log-odds
ANCHOR_ELO = 1000.0  # rating of the anchor, by definition
RATING_SPREAD = 600.0  # Elo; standard deviation of the prior of a rating
ADVANTAGE_SPREAD = 200.0  # Elo; standard deviation of the prior of the first side's advantage
PRIOR_PAIRS = 100  # weight of the prior that the two matches of a pair are independent
MEMBER_PRIOR_PAIRS = 20  # the same, for the pairs of one member

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of all members. All numbers are in Elo points unless their name says otherwise."""

    names: tuple[str, ...]
    elo: Reals  # [n]
    covariance: Reals  # [n, n] of the posterior; the anchor's row is 0
    advantage: float  # of the first side
    advantage_error: float  # its standard deviation
    tie_log_odds: float  # of a tie between equals, over the geometric mean of win and loss; -inf without ties
    dispersion: float  # variance of the score of a pair over that of two independent matches
    match_ups: Reals  # [n, n] the same for each match-up, by how much the pairs of its two members vary
    anchor: str | None  # the member with the rating ANCHOR_ELO; None: the mean of all has it
    # with more than two teams: what playing each of them is worth, to their mean, and its standard error; else empty
    team_advantages: tuple[float, ...] = ()
    team_errors: tuple[float, ...] = ()

    def interval(self, index: int) -> tuple[float, float]:
        """Return the 95% interval of a rating, relative to the anchor."""
        spread = Z_95 * sqrt(max(self.covariance[index, index], 0.0))
        return float(self.elo[index] - spread), float(self.elo[index] + spread)

    def superiority(self, index: int, other: int) -> float:
        """Return the probability that a member is stronger than another one."""
        difference = self.elo[index] - self.elo[other]
        variance = self.covariance[index, index] + self.covariance[other, other] - 2 * self.covariance[index, other]
        if variance <= 0:
            return 0.5 if difference == 0 else float(difference > 0)
        return 0.5 * (1 + erf(difference / sqrt(2 * variance)))

    def expected(self) -> Reals:
        """Return the expected score of each member against each other one, with half of the matches on each side."""
        difference = np.subtract.outer(self.elo, self.elo) / SCALE
        advantage = self.advantage / SCALE
        first = _mean_score(*_outcomes(difference + advantage, self.tie_log_odds))
        second = _mean_score(*_outcomes(difference - advantage, self.tie_log_odds))
        return (first + second) / 2


def rate(payoff: Payoff, anchor: str | None = None, *, sides_differ: bool = True) -> Ratings:
    """Rate all members. `anchor` is the member whose rating is ANCHOR_ELO; with None, or one without matches, it is
    the mean of all. With `sides_differ` False, the first side has no advantage: the counts do not tell the sides."""
    n = len(payoff.names)
    place = payoff.names.index(anchor) if anchor in payoff.names else None
    if place is None or not payoff.meetings[place].any():
        anchor, place = None, None
    parameters, information, prior = _fit(payoff, sides_differ=sides_differ)
    theta, advantage, tie = parameters[:n], parameters[n], parameters[n + 1]
    if not payoff.ties.any():
        tie = -np.inf
    dispersion, match_ups = _dispersion(payoff, theta, float(advantage), float(tie))
    # the maximum follows from independent matches; how far it is off, from how much the pairs vary
    bread = np.linalg.inv(information + prior)
    noise = _information(payoff.matches * match_ups, parameters, _active(payoff, sides_differ=sides_differ))
    covariance = np.asarray(bread @ (noise + prior) @ bread, np.float64)
    elo, spread = anchored(theta, covariance[:n, :n], place)
    return Ratings(
        payoff.names,
        elo,
        spread,
        float(advantage) * SCALE,
        sqrt(covariance[n, n]) * SCALE,
        float(tie),
        dispersion,
        match_ups,
        anchor,
    )


def rate_by_side(payoff: Payoff, anchor: str | None = None) -> tuple[Reals, Reals]:
    """Rate every member as first side and as second side. Returns both arrays of ratings.

    The mean of the anchor's two ratings, or of all, is ANCHOR_ELO. Where one side has an advantage, ratings of that
    side are higher.
    """
    n = len(payoff.names)
    if not n:
        return np.zeros(0), np.zeros(0)
    parameters, _, _ = _fit(payoff.by_side(), sides_differ=False)
    elo = parameters[: 2 * n] * SCALE
    mean = (elo[:n] + elo[n:]) / 2
    level = mean[payoff.names.index(anchor)] if anchor in payoff.names else mean.mean()
    return elo[:n] - level + ANCHOR_ELO, elo[n:] - level + ANCHOR_ELO


def _fit(payoff: Payoff, *, sides_differ: bool) -> tuple[Reals, Reals, Reals]:
    """Maximise the posterior by Newton's method. Returns parameters, information of the data, and precision of the
    prior. Parameters: a rating for each member, the advantage of the first side, the log-odds of a tie."""
    n = len(payoff.names)
    active = _active(payoff, sides_differ=sides_differ)
    prior = np.diag(
        np.concatenate((np.full(n, (SCALE / RATING_SPREAD) ** 2), [(SCALE / ADVANTAGE_SPREAD) ** 2], [0.25]))
    )
    parameters, information = newton.mode(
        lambda parameters: _log_likelihood(payoff, parameters, active),
        lambda parameters: _derivatives(payoff, parameters, active),
        prior,
        active,
    )
    return parameters, information, prior


def _active(payoff: Payoff, *, sides_differ: bool) -> NDArray[np.bool_]:
    """Return which parameters are estimated."""
    return np.array([*[True] * len(payoff.names), sides_differ, payoff.ties.any()], np.bool_)


def _outcomes(log_odds: Reals, tie_log_odds: float) -> tuple[Reals, Reals, Reals]:
    """Return the probabilities of a win, a tie and a loss of the first side."""
    half = log_odds / 2
    highest = np.maximum(np.abs(half), tie_log_odds)
    win, tie, loss = np.exp(half - highest), np.exp(tie_log_odds - highest), np.exp(-half - highest)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def _mean_score(win: Reals, tie: Reals, loss: Reals) -> Reals:
    return win + tie / 2


def _model(parameters: Reals, active: NDArray[np.bool_]) -> tuple[Reals, float]:
    """Return the log-odds of all cells, and the log-odds of a tie."""
    n = len(parameters) - 2
    theta = parameters[:n]
    return np.subtract.outer(theta, theta) + parameters[n], float(parameters[n + 1]) if active[n + 1] else -np.inf


def _log_likelihood(payoff: Payoff, parameters: Reals, active: NDArray[np.bool_]) -> float:
    win, tie, loss = _outcomes(*_model(parameters, active))
    tiny = np.finfo(np.float64).tiny
    return sum(
        float((counts * np.log(np.maximum(share, tiny))).sum())
        for counts, share in ((payoff.wins, win), (payoff.ties, tie), (payoff.losses, loss))
    )


def _derivatives(payoff: Payoff, parameters: Reals, active: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """Return the gradient and the information (negative Hessian) of the log-likelihood."""
    matches = payoff.matches
    win, tie, loss = _outcomes(*_model(parameters, active))
    slope = (payoff.wins - payoff.losses - matches * (win - loss)) / 2
    gradient = np.concatenate((slope.sum(1) - slope.sum(0), [slope.sum()], [(payoff.ties - matches * tie).sum()]))
    return gradient, _information(matches.astype(np.float64), parameters, active)


def _information(matches: Reals, parameters: Reals, active: NDArray[np.bool_]) -> Reals:
    """Return the information of so many matches in each cell [n, n]."""
    n = len(matches)
    win, tie, loss = _outcomes(*_model(parameters, active))
    curve = matches * (win + loss - (win - loss) ** 2) / 4
    mixed = -matches * (win - loss) * tie / 2
    information = np.zeros((n + 2, n + 2))
    both = curve + curve.T
    information[:n, :n] = np.diag(both.sum(1)) - both
    information[:n, n] = information[n, :n] = curve.sum(1) - curve.sum(0)
    information[n, n] = curve.sum()
    information[:n, n + 1] = information[n + 1, :n] = mixed.sum(1) - mixed.sum(0)
    information[n, n + 1] = information[n + 1, n] = mixed.sum()
    information[n + 1, n + 1] = (matches * tie * (1 - tie)).sum()
    information[~active] = 0.0
    information[:, ~active] = 0.0
    return information


def _dispersion(payoff: Payoff, theta: Reals, advantage: float, tie: float) -> tuple[float, Reals]:
    """Return how much more the scores of pairs vary than those of two independent matches would: 1 if they are.
    Of all pairs, and of each match-up [n, n].

    Matches of a pair share a seed. If the seed favours a side, one result follows from the other and pairs vary less.
    That may hold for some members only, such as those that play perfectly: a match-up has the value of that member
    whose pairs vary more.
    """
    i, j = np.triu_indices(len(payoff.names), 1)
    counts = payoff.pairs[i, j]
    first = _outcomes(theta[i] - theta[j] + advantage, tie)
    second = _outcomes(theta[i] - theta[j] - advantage, tie)
    mean = (_mean_score(*first) + _mean_score(*second)) / 2
    variance = sum(_variance(*each) for each in (first, second)) / 4
    squares, independent, total = (np.zeros((len(payoff.names), len(payoff.names))) for _ in range(3))
    squares[i, j] = (counts * (PAIR_SCORES - mean[:, None]) ** 2).sum(1)
    independent[i, j] = counts.sum(1) * variance
    total[i, j] = counts.sum(1)

    def over(squares: Reals, independent: Reals, total: Reals, prior_pairs: int) -> Reals:
        prior = np.where(total > 0, prior_pairs * independent / np.maximum(total, 1), 1.0)
        return np.asarray((squares + prior) / (independent + prior))

    overall = over(squares.sum(), independent.sum(), total.sum(), PRIOR_PAIRS)
    s, v, t = (each.sum(0) + each.sum(1) for each in (squares, independent, total))
    of_member = over(s, v, t, MEMBER_PRIOR_PAIRS)
    return float(overall), np.maximum.outer(of_member, of_member)


def _variance(win: Reals, tie: Reals, loss: Reals) -> Reals:
    return win + tie / 4 - (win + tie / 2) ** 2


def anchored(theta: Reals, covariance: Reals, place: int | None) -> tuple[Reals, Reals]:
    """Return ratings and their covariance in Elo, relative to the member at `place`, or to the mean of all."""
    n = len(theta)
    level = np.full(n, 1 / max(n, 1)) if place is None else np.eye(n)[place]
    centre = np.eye(n) - level[None, :]
    return centre @ theta * SCALE + ANCHOR_ELO, centre @ covariance @ centre.T * SCALE**2
