"""Ratings of members from matches of more than two teams, on the Elo scale of `ratings`: Plackett-Luce. Pure.

The first of a match is drawn among all teams with odds of 10^(rating / 400), the second among the others, and so on.
With two teams this is the Bradley-Terry model without ties. Teams that share a place share its win. Teams that share
the last place are not compared with each other: in most games all losers have the score 0.

Ratings are the maximum of the posterior under the prior of `ratings`. The matches are sorted before they are added up,
so that their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.league import newton
from ludus.league.payoff import Payoff
from ludus.league.ratings import (
    ADVANTAGE_SPREAD,
    PRIOR_PAIRS,
    RATING_SPREAD,
    SCALE,
    Ratings,
    anchored,
)

Reals = NDArray[np.float64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rankings:
    """M matches of T teams, in an order that does not depend on that of the log."""

    names: tuple[str, ...]  # all members, in alphabetical order
    member: Places  # [M, T] place in `names` of the member that played each team
    score: Reals  # [M, T]
    seed: Places  # [M]

    @classmethod
    def of(
        cls, names: Sequence[str], players: Sequence[Sequence[str]], scores: Sequence[Sequence[float]], seed: Places
    ) -> Rankings:
        """Collect matches between these members. `players` and `scores` have an entry for each team."""
        ordered = tuple(sorted(set(names)))
        places = {name: place for place, name in enumerate(ordered)}
        member = np.array([[places[name] for name in each] for each in players], np.int64)
        score = np.array(scores, np.float64)
        order = np.lexsort((*score.T, *member.T, seed))
        return cls(ordered, member[order], score[order], seed[order])

    @property
    def matches(self) -> Places:
        """Return the number of matches of each member [n]."""
        counts = np.zeros(len(self.names), np.int64)
        for place in range(len(self.names)):
            counts[place] = np.count_nonzero((self.member == place).any(1))
        return counts

    def payoff(self) -> Payoff:
        """Count who came before whom: every two teams of different members that a match compares are one comparison.
        The team with the lower number is on the first side; there are no pairs of matches."""
        T = self.member.shape[1]
        is_last = (self.score == self.score.min(1, keepdims=True)) & (self.score.max(1) > self.score.min(1))[:, None]
        cells = []
        for one in range(T):
            for other in range(one + 1, T):
                compared = (self.member[:, one] != self.member[:, other]) & ~(is_last[:, one] & is_last[:, other])
                lead = np.sign(self.score[:, one] - self.score[:, other])[compared]
                cells.append((self.member[compared, one], self.member[compared, other], (lead + 1) / 2))
        first, second, score = (np.concatenate(each) for each in zip(*cells, strict=True))
        names = np.array(self.names, object)
        no_pairs = np.arange(len(score))
        return Payoff.of(self.names, names[first].tolist(), names[second].tolist(), score, no_pairs)


@dataclass(frozen=True, slots=True)
class _Stages:
    """The S stages of all matches. At each stage, the next team is drawn among those that remain in its match."""

    member: Places  # [S, T]
    remains: Mask  # [S, T] teams among which the choice is
    share: Reals  # [S, T] 1 for the team that comes next, or equal shares; 0 for the others
    seed: Places  # [S]


def rate_rankings(rankings: Rankings, anchor: str | None = None) -> Ratings:
    """Rate all members. `anchor` is the member whose rating is fixed, as in `ratings.rate`.

    `Ratings.team_advantages` is what playing each team is worth. Matches on one seed are not independent: intervals
    use how much the results of such matches vary together.
    """
    n, T = len(rankings.names), rankings.member.shape[1]
    place = rankings.names.index(anchor) if anchor in rankings.names else None
    if place is None or not (rankings.member == place).any():
        anchor, place = None, None
    stages = _stages(rankings)
    parameters, information, prior = _fit(stages, n)
    dispersion = _dispersion(stages, parameters, n)
    covariance = np.asarray(np.linalg.inv(information / dispersion + prior), np.float64)
    elo, spread = anchored(parameters[:n], covariance[:n, :n], place)
    centre = np.eye(T) - 1 / T
    errors = np.sqrt(np.diag(centre @ covariance[n:, n:] @ centre.T))
    return Ratings(
        rankings.names,
        elo,
        spread,
        0.0,
        0.0,
        -np.inf,
        dispersion,
        np.full((n, n), dispersion),
        anchor,
        tuple((centre @ parameters[n:] * SCALE).tolist()),
        tuple((errors * SCALE).tolist()),
    )


def _stages(rankings: Rankings) -> _Stages:
    score = rankings.score
    remains = np.ones(score.shape, np.bool_)
    parts: list[tuple[Mask, Mask, Reals]] = []
    for stage in range(score.shape[1]):
        highest = np.where(remains, score, -np.inf).max(1)
        ahead = remains & (score == highest[:, None])
        counts = ahead.any(1) & ((remains & ~ahead).any(1) if stage else True)
        share = ahead / np.maximum(ahead.sum(1, keepdims=True), 1)
        parts.append((counts, remains.copy(), np.asarray(share)))
        remains = remains & ~ahead
        if not remains.any():
            break
    return _Stages(
        np.concatenate([rankings.member[counts] for counts, _, _ in parts]),
        np.concatenate([there[counts] for counts, there, _ in parts]),
        np.concatenate([share[counts] for counts, _, share in parts]),
        np.concatenate([rankings.seed[counts] for counts, _, _ in parts]),
    )


def _fit(stages: _Stages, n: int) -> tuple[Reals, Reals, Reals]:
    """Maximise the posterior by Newton's method. Returns parameters (a rating for each member, an advantage for each
    team), information of the data, and precision of the prior."""
    T = stages.member.shape[1]
    prior = np.diag(
        np.concatenate((np.full(n, (SCALE / RATING_SPREAD) ** 2), np.full(T, (SCALE / ADVANTAGE_SPREAD) ** 2)))
    )
    parameters, information = newton.mode(
        lambda parameters: _log_likelihood(stages, parameters, n),
        lambda parameters: _derivatives(stages, parameters, n),
        prior,
    )
    return parameters, information, prior


def _log_chances(stages: _Stages, parameters: Reals, n: int) -> Reals:
    """Return the logarithm of the probability of each team to come next [S, T]; -inf for those that have."""
    strength = np.where(stages.remains, parameters[stages.member] + parameters[n:], -np.inf)
    highest = strength.max(1, keepdims=True)
    return np.asarray(strength - highest - np.log(np.exp(strength - highest).sum(1, keepdims=True)))


def _log_likelihood(stages: _Stages, parameters: Reals, n: int) -> float:
    chances = np.where(stages.share > 0, _log_chances(stages, parameters, n), 0.0)
    return float((stages.share * chances).sum())


def _derivatives(stages: _Stages, parameters: Reals, n: int) -> tuple[Reals, Reals]:
    """Return the gradient and the information (negative Hessian) of the log-likelihood."""
    T = stages.member.shape[1]
    chance = np.exp(_log_chances(stages, parameters, n))
    slope = stages.share - chance
    gradient = np.zeros(n + T)
    gradient[:n] = np.bincount(stages.member.ravel(), slope.ravel(), n)
    gradient[n:] = slope.sum(0)
    curve = -chance[:, :, None] * chance[:, None, :]
    curve[:, range(T), range(T)] += chance
    member = stages.member
    information = np.zeros((n + T, n + T))
    cells = member[:, :, None] * n + member[:, None, :]
    information[:n, :n] = np.bincount(cells.ravel(), curve.ravel(), n * n).reshape(n, n)
    cells = np.broadcast_to(member[:, :, None] * T + np.arange(T), curve.shape)
    information[:n, n:] = np.bincount(cells.ravel(), curve.ravel(), n * T).reshape(n, T)
    information[n:, :n] = information[:n, n:].T
    information[n:, n:] = curve.sum(0)
    return gradient, information


def _dispersion(stages: _Stages, parameters: Reals, n: int) -> float:
    """Return how much more the results of matches on one seed vary than independent ones would: 1 if they are
    independent, and less if places are shared or if the seed favours a team."""
    chance = np.exp(_log_chances(stages, parameters, n))
    same = stages.member[:, :, None] == stages.member[:, None, :]  # a member may play several teams of a match
    expected, won = ((same * each[:, None, :]).sum(2) for each in (chance, stages.share))
    is_first = ~np.tril(same, -1).any(2) & (stages.remains[:, None, :] & same).any(2)
    stage, team = np.nonzero(is_first)
    seeds = np.unique(stages.seed, return_inverse=True)[1]
    key = seeds[stage] * n + stages.member[stage, team]
    groups = np.unique(key, return_inverse=True)[1]
    deviation = np.bincount(groups, (won - expected)[stage, team])
    independent = float((expected * (1 - expected))[stage, team].sum())
    if independent <= 0:
        return 1.0
    prior = PRIOR_PAIRS * independent / len(deviation)
    return (float((deviation**2).sum()) + prior) / (independent + prior)
