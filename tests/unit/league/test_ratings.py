"""Ratings of simulated members whose strengths are known."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.league.equilibrium import cycles
from ludus.league.payoff import Payoff
from ludus.league.ratings import ANCHOR_ELO, SCALE, rate, rate_by_side

Strengths = NDArray[np.float64]


def simulated(
    strengths: Strengths,
    pairs: int,
    generator: np.random.Generator,
    *,
    advantage: float = 0.0,
    tie: float = -np.inf,
) -> Payoff:
    """Every two members play `pairs` pairs of independent matches. Counted in cells, which is quick."""
    n = len(strengths)
    half = (np.subtract.outer(strengths, strengths) + advantage) / SCALE / 2
    weights = np.stack((np.exp(half), np.full((n, n), np.exp(tie)), np.exp(-half)), -1)
    outcomes = generator.multinomial(pairs, weights / weights.sum(-1, keepdims=True))
    outcomes[np.arange(n), np.arange(n)] = 0
    wins, ties, losses = (outcomes[..., at] for at in range(3))
    return Payoff(names_of(n), wins, ties, losses, np.zeros((n, n, 5), np.int64))


def names_of(n: int) -> tuple[str, ...]:
    return tuple(f"m{at:03d}" for at in range(n))


def coverage(simulations: int, *, pairs: int, tie: float, advantage: float) -> float:
    """The share of 95% intervals that hold the true difference from the anchor, m000."""
    generator = np.random.default_rng(5)
    hits = total = 0
    for _ in range(simulations):
        strengths = generator.normal(0.0, 200.0, 6)
        ratings = rate(simulated(strengths, pairs, generator, advantage=advantage, tie=tie), "m000")
        truth = strengths - strengths[0] + ANCHOR_ELO
        for member in range(1, 6):
            low, high = ratings.interval(member)
            hits += low <= truth[member] <= high
            total += 1
    return hits / total


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    assert 0.93 <= coverage(1000, pairs=20, tie=-1.0, advantage=40.0) <= 0.97


@pytest.mark.parametrize(("pairs", "tie"), [(5, -np.inf), (20, -np.inf), (200, 0.0)])
def test_intervals_hold_the_truth_with_few_and_many_matches(pairs: int, tie: float) -> None:
    assert 0.93 <= coverage(300, pairs=pairs, tie=tie, advantage=0.0) <= 0.97


def test_the_order_of_the_matches_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    names = names_of(5)
    one, other = generator.integers(0, 5, (2, 400))
    one, other = one[one != other], other[one != other]
    score = generator.choice([0.0, 0.5, 1.0], len(one))
    seed = generator.integers(0, 50, len(one))

    def rated(order: NDArray[np.int64]) -> list[float]:
        first, second = ([names[at] for at in side[order]] for side in (one, other))
        payoff = Payoff.of(reversed(names), first, second, score[order], seed[order])
        ratings = rate(payoff, "m002")
        return [*ratings.elo, *ratings.covariance.ravel()]

    expected = rated(np.arange(len(one)))
    for _ in range(3):
        assert rated(generator.permutation(len(one))) == expected
    assert rated(np.arange(len(one))[::-1]) == expected


def test_six_to_four_between_equals_is_70_points_in_any_order() -> None:
    payoff = Payoff.of(("a", "b"), ["a"] * 10, ["b"] * 10, np.array([1.0] * 6 + [0.0] * 4), np.arange(10))
    ratings = rate(payoff, "b")
    low, high = ratings.interval(0)
    assert ratings.elo[1] == ANCHOR_ELO
    assert ANCHOR_ELO + 45 < ratings.elo[0] < ANCHOR_ELO + 71, "a little less than the maximum of the likelihood, 70"
    assert low < ANCHOR_ELO < high
    assert ratings.superiority(0, 1) == pytest.approx(1 - ratings.superiority(1, 0))
    assert 0.5 < ratings.superiority(0, 1) < 0.8


def test_the_advantage_of_a_side_and_ties_are_estimated() -> None:
    strengths = np.array([0.0, 100.0, -150.0, 60.0])
    ratings = rate(simulated(strengths, 20_000, np.random.default_rng(2), advantage=80.0, tie=-0.5), "m000")
    assert ratings.elo - ANCHOR_ELO == pytest.approx(strengths, abs=8)
    assert ratings.advantage == pytest.approx(80, abs=4 * ratings.advantage_error)
    assert ratings.tie_log_odds == pytest.approx(-0.5, abs=0.02)


def test_a_member_that_is_strong_on_one_side_only_has_two_ratings() -> None:
    generator = np.random.default_rng(3)
    payoff = simulated(np.zeros(3), 2000, generator, advantage=100.0)
    first, second = rate_by_side(payoff, "m001")
    assert first - second == pytest.approx(np.full(3, 100.0), abs=25)
    assert (first[1] + second[1]) / 2 == pytest.approx(ANCHOR_ELO)


def test_a_member_that_always_wins_has_a_finite_rating() -> None:
    payoff = Payoff.of(("a", "b"), ["a"] * 1000, ["b"] * 1000, np.ones(1000), np.arange(1000))
    ratings = rate(payoff, "b")
    assert ANCHOR_ELO + 500 < ratings.elo[0] < ANCHOR_ELO + 2000
    assert np.isfinite(ratings.interval(0)).all()


def test_members_without_matches_have_wide_intervals_and_no_anchor_of_their_own() -> None:
    payoff = Payoff.of(("a", "b", "c"), ["a"] * 8, ["b"] * 8, np.tile([1.0, 0.0], 4), np.arange(8))
    ratings = rate(payoff, "c")
    assert ratings.anchor is None
    low, high = ratings.interval(2)
    assert high - low > 1500
    assert ratings.elo.mean() == pytest.approx(ANCHOR_ELO)
    empty = rate(Payoff.of(("a", "b"), [], [], np.zeros(0), np.zeros(0, np.int64)))
    assert empty.elo == pytest.approx([ANCHOR_ELO, ANCHOR_ELO])


def test_pairs_that_vary_less_than_two_matches_narrow_the_intervals() -> None:
    """The seed decides each match: with sides swapped, both members win one of the two."""
    matches = 2000
    first = ["a", "b"] * (matches // 2)
    second = ["b", "a"] * (matches // 2)
    seed = np.repeat(np.arange(matches // 2), 2)
    favoured = np.random.default_rng(4).integers(0, 2, matches // 2)
    score = np.repeat(favoured, 2).astype(float)
    ratings = rate(Payoff.of(("a", "b"), first, second, score, seed), "b")
    assert ratings.dispersion < 0.2
    shuffled = rate(Payoff.of(("a", "b"), first, second, score, np.arange(matches)), "b")
    assert shuffled.dispersion == 1.0
    assert shuffled.covariance[0, 0] > 4 * ratings.covariance[0, 0]


def of_one_weak_member(generator: np.random.Generator) -> Payoff:
    """Five members play perfectly: the seed decides. The sixth wins a tenth of its few matches, whatever the seed."""
    n, pairs, few = 6, 100, 5
    wins, losses = np.full((2, n, n), pairs // 2)
    counts = np.zeros((n, n, 5), np.int64)
    counts[:, :, 2] = pairs
    score = generator.random((2, n - 1, few)) < 0.1
    wins[5, :5], wins[:5, 5] = score[0].sum(1), few - score[1].sum(1)
    losses[5, :5], losses[:5, 5] = few - wins[5, :5], few - wins[:5, 5]
    for other in range(5):
        counts[other, 5] = np.bincount(4 - 2 * score[:, other].sum(0), minlength=5)
    wins[np.arange(n), np.arange(n)] = losses[np.arange(n), np.arange(n)] = 0
    return Payoff(names_of(n), wins, np.zeros((n, n), np.int64), losses, counts)


def test_members_whose_pairs_vary_little_do_not_narrow_the_interval_of_one_whose_pairs_vary_much() -> None:
    generator = np.random.default_rng(8)
    truth = ANCHOR_ELO + SCALE * np.log(0.1 / 0.9)
    hits = warnings = 0
    for _ in range(300):
        payoff = of_one_weak_member(generator)
        ratings = rate(payoff, "m000")
        low, high = ratings.interval(5)
        hits += low <= truth <= high
        warnings += bool(cycles(payoff, ratings).warning)
        assert ratings.interval(1)[1] - ratings.interval(1)[0] < 60, "pairs of the others are all even"
    assert 0.93 <= hits / 300 <= 0.98
    assert warnings <= 6


def test_200_members_and_a_million_matches_are_rated_in_seconds() -> None:
    generator = np.random.default_rng(6)
    strengths = generator.normal(0, 300, 200)
    one, other = generator.integers(0, 200, (2, 500_000))
    one, other = one[one != other], other[one != other]
    names = names_of(200)
    shares = 1 / (1 + np.exp((strengths[other] - strengths[one]) / SCALE))
    score = np.concatenate([generator.random(len(one)) < shares, generator.random(len(one)) > shares]).astype(float)
    sides = [[names[at] for at in side] for side in (one, other)]
    seed = np.tile(np.arange(len(one)), 2)
    began_s = time.process_time()
    payoff = Payoff.of(names, sides[0] + sides[1], sides[1] + sides[0], score, seed)
    ratings = rate(payoff, "m000")
    assert time.process_time() - began_s < 5.0
    assert payoff.pairs.sum() == len(one)
    error = np.sqrt(np.diag(ratings.covariance))[1:]
    off = (ratings.elo - ANCHOR_ELO - strengths + strengths[0])[1:]
    assert np.mean(np.abs(off) < 2 * error) > 0.9
