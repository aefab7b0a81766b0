"""Mixtures of members and the cyclic part of a payoff, on games with known answers and against other programs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from open_spiel.python.egt import alpharank
from scipy.optimize import linprog, minimize

from ludus.league.equilibrium import alpha_rank, cycles, nash_average
from ludus.league.payoff import Payoff
from ludus.league.ratings import rate

Shares = NDArray[np.float64]
ROCK_PAPER_SCISSORS = np.array([[0.5, 0.1, 0.9], [0.9, 0.5, 0.1], [0.1, 0.9, 0.5]])


def played(shares: Shares, pairs: int, generator: np.random.Generator) -> Payoff:
    """Members play each other with these true shares of wins."""
    n = len(shares)
    wins = generator.binomial(pairs, shares)
    np.fill_diagonal(wins, 0)
    losses = np.where(np.eye(n, dtype=bool), 0, pairs - wins)
    nothing = np.zeros((n, n), np.int64)
    return Payoff(tuple("abcdefgh"[:n]), wins, nothing, losses, np.zeros((n, n, 5), np.int64))


def random_shares(n: int, seed: int) -> Shares:
    advantage = np.triu(np.random.default_rng(seed).uniform(-0.5, 0.5, (n, n)), 1)
    return np.asarray(0.5 + advantage - advantage.T)


def test_nash_averaging_of_rock_paper_scissors_is_a_third_each() -> None:
    assert nash_average(ROCK_PAPER_SCISSORS) == pytest.approx([1 / 3] * 3, abs=1e-4)
    assert alpha_rank(ROCK_PAPER_SCISSORS) == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_a_copy_of_a_member_shares_its_weight_in_the_nash_average() -> None:
    index = [0, 0, 1, 2]
    average = nash_average(ROCK_PAPER_SCISSORS[np.ix_(index, index)])
    assert average == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-3)


def test_a_member_that_beats_all_others_is_the_whole_nash_average() -> None:
    strengths = np.array([0.0, 1.0, 3.0, 1.5])
    shares = 1 / (1 + np.exp(np.subtract.outer(-strengths, -strengths)))
    assert nash_average(shares) == pytest.approx([0, 0, 1, 0], abs=1e-3)
    assert alpha_rank(shares).argmax() == 2


@pytest.mark.parametrize("strength", [1e-6, 0.01, 3.0, 40.0])
def test_the_stronger_of_two_is_the_whole_nash_average_unless_they_are_equal(strength: float) -> None:
    win = 1 / (1 + np.exp(-strength))
    average = nash_average(np.array([[0.5, win], [1 - win, 0.5]]))
    assert average == pytest.approx([0.5, 0.5] if strength < 1e-5 else [1, 0], abs=1e-3)


def test_equal_members_share_the_nash_average() -> None:
    assert nash_average(np.full((5, 5), 0.5)) == pytest.approx([0.2] * 5)
    assert nash_average(np.full((1, 1), 0.5)) == pytest.approx([1.0])


@pytest.mark.parametrize("n", [3, 5, 9])
def test_the_nash_average_is_the_equilibrium_that_linear_programming_finds(n: int) -> None:
    """A random game with an odd number of members has one equilibrium."""
    shares = random_shares(n, n)
    peer = linprog(np.zeros(n), A_ub=(shares.T - shares).T, b_ub=np.zeros(n), A_eq=np.ones((1, n)), b_eq=[1.0])
    assert nash_average(shares) == pytest.approx(peer.x, abs=2e-3)


def test_of_many_equilibria_the_nash_average_has_the_highest_entropy() -> None:
    """Two disjoint circles of three that tie with each other, one of them smaller: scipy maximises the entropy."""
    circle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]) * 0.3
    advantage = np.zeros((7, 7))
    advantage[:3, :3] = circle
    advantage[3:6, 3:6] = 0.5 * circle
    advantage[6, :6], advantage[:6, 6] = -0.1, 0.1  # beaten by all
    average = nash_average(0.5 + advantage / 2)

    def negative_entropy(mixture: Shares) -> float:
        return float((mixture * np.log(np.maximum(mixture, 1e-12))).sum())

    peer = minimize(
        negative_entropy,
        np.full(7, 1 / 7),
        bounds=[(0, 1)] * 7,
        constraints=[
            {"type": "eq", "fun": lambda mixture: mixture.sum() - 1},
            {"type": "ineq", "fun": lambda mixture: mixture @ advantage},
        ],
        method="SLSQP",
    )
    assert average == pytest.approx(peer.x, abs=2e-3)
    assert average == pytest.approx([1 / 6] * 6 + [0], abs=2e-3)


def test_nobody_beats_the_nash_average_of_200_members() -> None:
    shares = random_shares(200, 1)
    average = nash_average(shares)
    assert average.sum() == pytest.approx(1)
    assert (average @ (shares - shares.T)).min() > -1e-4


@pytest.mark.parametrize(("alpha", "n"), [(0.5, 4), (5.0, 6), (20.0, 3)])
def test_alpha_rank_is_that_of_openspiel(alpha: float, n: int) -> None:
    shares = random_shares(n, n)
    _, _, stationary, _, _ = alpharank.compute([shares], alpha=alpha, m=50)
    assert alpha_rank(shares, alpha, 50) == pytest.approx(stationary, abs=1e-6)


def test_the_cyclic_part_of_rock_paper_scissors_is_all_of_it() -> None:
    payoff = played(ROCK_PAPER_SCISSORS, 100, np.random.default_rng(1))
    result = cycles(payoff, rate(payoff))
    assert result.share > 0.95
    assert result.sigmas > 10
    assert set(result.cycle) == {"a", "b", "c"}
    assert "% of the payoff is cyclic" in result.warning


def test_a_payoff_that_ratings_explain_is_not_called_cyclic() -> None:
    generator = np.random.default_rng(2)
    warnings = 0
    for _ in range(50):
        strengths = generator.normal(0, 1, 8)
        shares = 1 / (1 + np.exp(np.subtract.outer(-strengths, -strengths)))
        payoff = played(shares.T, 50, generator)
        warnings += bool(cycles(payoff, rate(payoff)).warning)
    assert warnings <= 2


def test_a_payoff_can_be_partly_cyclic() -> None:
    strengths = np.array([0.0, 0.0, 0.0, 1.0])
    logits = np.subtract.outer(strengths, strengths)
    logits[:3, :3] += np.log(np.array([[1, 1 / 3, 3], [3, 1, 1 / 3], [1 / 3, 3, 1]]))
    payoff = played(1 / (1 + np.exp(-logits)), 500, np.random.default_rng(3))
    result = cycles(payoff, rate(payoff))
    assert 0.3 < result.share < 0.7
    assert set(result.cycle) == {"a", "b", "c"}


def test_two_members_have_no_cycle() -> None:
    payoff = played(np.array([[0.5, 0.9], [0.1, 0.5]]), 100, np.random.default_rng(4))
    assert (cycles(payoff, rate(payoff)).share, cycles(payoff, rate(payoff)).cycle) == (0.0, ())
