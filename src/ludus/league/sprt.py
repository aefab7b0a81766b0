"""A sequential test of the difference of two policies, on pairs of matches with sides swapped. Pure.

A pair has five possible scores (pentanomial), so its variance contains what both matches share through their seed. The
test is the generalised sequential probability ratio test with a normal approximation, as in fishtest: it may look at
the result after every pair, and its error rates hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ludus.league.payoff import PAIR_SCORES
from ludus.league.ratings import SCALE
from ludus.metrics.intervals import Z_95

ERROR = 0.05  # probability of either wrong verdict
PRIOR_PAIR = 1e-3  # added to each of the five counts, so that the variance of equal results is not 0
LEAST_PAIRS = 16  # before a verdict: below, the variance of the pairs is not known well enough
MOST_MATCHES = 10_000_000  # that an estimate may name


@dataclass(frozen=True, slots=True)
class Comparison:
    """The state of a test of "no better than `low` Elo" against "at least `high` Elo better"."""

    outcome: Literal["better", "not better", "undecided"]
    matches: int  # matches in complete pairs
    elo: float  # difference in Elo, from the mean score of the pairs
    interval: tuple[float, float]  # its 95% interval
    llr: float  # log-likelihood ratio; the test ends at `-bound` and `bound`
    bound: float
    more_matches: int  # expected number of further matches until a verdict; 0 if there is one


def decide(pairs: NDArray[np.int64], low: float, high: float, error: float = ERROR) -> Comparison:
    """Test the counts of pairs by score (0, 1/4, 1/2, 3/4, 1). Requires low < high, both in Elo."""
    if not low < high:
        raise ValueError(f"the lower bound {low} must be below the upper bound {high}")
    bound = log((1 - error) / error)
    total = int(pairs.sum())
    if not total:
        return Comparison("undecided", 0, 0.0, (-np.inf, np.inf), 0.0, bound, more(0.0, 0.125, low, high, bound))
    weights = pairs + PRIOR_PAIR
    mean = float(weights @ PAIR_SCORES / weights.sum())
    variance = float(weights @ (PAIR_SCORES - mean) ** 2 / weights.sum())
    score_low, score_high = share_of(low), share_of(high)
    llr = total * (score_high - score_low) * (2 * mean - score_low - score_high) / (2 * variance)
    error_of_mean = Z_95 * sqrt(variance / total)
    interval = elo_of(mean - error_of_mean), elo_of(mean + error_of_mean)
    outcome: Literal["better", "not better", "undecided"] = "undecided"
    if total >= LEAST_PAIRS and abs(llr) >= bound:
        outcome = "better" if llr > 0 else "not better"
    more_matches = 0
    if outcome == "undecided":
        more_matches = max(more(llr, variance, low, high, bound, mean), 2 * (LEAST_PAIRS - total))
    return Comparison(outcome, 2 * total, elo_of(mean), interval, llr, bound, more_matches)


def more(llr: float, variance: float, low: float, high: float, bound: float, mean: float | None = None) -> int:
    """Return the expected number of further matches until a verdict, if the mean score stays what it is.

    Between the bounds the ratio drifts slowly. It then moves by chance, and reaches a bound after about the square of
    the distance over its variance per pair, which is the upper limit here.
    """
    score_low, score_high = share_of(low), share_of(high)
    gap = score_high - score_low
    middle = (score_low + score_high) / 2
    drift = gap * ((middle if mean is None else mean) - middle) / variance
    spread = gap**2 / variance  # variance of the ratio per pair
    by_chance = (bound**2 - llr**2) / spread
    by_drift = (bound - abs(llr) if drift * llr >= 0 else bound + abs(llr)) / abs(drift) if drift else np.inf
    return int(min(2 * ceil(max(min(by_chance, by_drift), 1.0)), MOST_MATCHES))


def share_of(elo: float) -> float:
    """Return the expected score at a difference in Elo."""
    return float(1 / (1 + np.exp(-elo / SCALE)))


def elo_of(share: float) -> float:
    """Return the difference in Elo of an expected score; infinite at 0 and 1."""
    if share <= 0 or share >= 1:
        return float(np.inf if share >= 1 else -np.inf)
    return SCALE * log(share / (1 - share))
