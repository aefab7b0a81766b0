"""Rates a run at each of its evaluations: a league of the run's versions and the scripted opponents. Pure.

Its matches are those of the evaluations, so a run needs no further ones. All runs of a game that evaluate against the
same scripted opponents have the same anchor, so their ratings can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ludus.league.payoff import Payoff
from ludus.league.ratings import rate
from ludus.metrics.exporters.evaluations import Evaluation
from ludus.metrics.observer import ALONE


@dataclass(frozen=True, slots=True)
class RatedPolicy:
    """A rating in Elo points, with its 95% interval."""

    elo: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunRatings:
    """The ratings of a run at its evaluations, and those of its opponents."""

    anchor: str  # the scripted opponent whose rating is fixed
    evaluations: tuple[RatedPolicy, ...]  # in the order of the evaluations
    opponents: Mapping[str, RatedPolicy]


def rate_run(history: Sequence[Evaluation], anchor: str = "") -> RunRatings | None:
    """Rate a run. The anchor is `anchor`, or else the last opponent of the latest evaluation.

    Returns None without evaluations, and for games with one seat.
    """
    if not history or any(score.opponent == ALONE for each in history for score in each.scores):
        return None
    opponents = sorted({score.opponent for each in history for score in each.scores})
    if not opponents:
        return None
    if anchor not in opponents:
        anchor = history[-1].scores[-1].opponent if history[-1].scores else opponents[-1]
    n = len(opponents)
    wins, ties, losses = (np.zeros((n + len(history), n + len(history)), np.int64) for _ in range(3))
    for version, evaluation in enumerate(history, n):
        for score in evaluation.scores:
            cell = version, opponents.index(score.opponent)
            wins[cell], ties[cell], losses[cell] = score.wins, score.ties, score.losses
    names = (*opponents, *(f"@{at}" for at in range(len(history))))
    payoff = Payoff(names, wins, ties, losses, np.zeros((len(names), len(names), 5), np.int64))
    ratings = rate(payoff, anchor, sides_differ=False)
    rated = [RatedPolicy(float(ratings.elo[at]), *ratings.interval(at)) for at in range(len(names))]
    return RunRatings(anchor, tuple(rated[n:]), dict(zip(opponents, rated, strict=False)))
