"""Mixtures of policies in Kuhn poker, checked against OpenSpiel's own tree walk."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.drivers.mixtures import GameTree, Reals

from ludus.games.openspiel.equilibrium import Probabilities
from ludus.games.openspiel.loading import load, pyspiel
from ludus.games.openspiel.options import SpielOptions

OPTIONS = SpielOptions(game="kuhn_poker")


@pytest.fixture(scope="module")
def tree() -> GameTree:
    return GameTree(OPTIONS)


def drawn(tree: GameTree, seed: int) -> Reals:
    return np.random.default_rng(seed).dirichlet(np.full(tree.states.spec.actions, 0.5), len(tree.states.names))


def constant(policy: Reals) -> Probabilities:
    return lambda obs, legal: policy


def value(tree: GameTree, first: Reals, second: Reals) -> float:
    """What the first seat wins, by OpenSpiel."""
    tables = [pyspiel().TabularPolicy(tree.states.tabulate(constant(policy))) for policy in (first, second)]
    game = load(OPTIONS)
    return float(pyspiel().expected_returns(game.new_initial_state(), tables, -1, True)[0])


def test_the_payoff_is_what_openspiel_computes(tree: GameTree) -> None:
    policies = [drawn(tree, seed) for seed in range(3)]
    payoff = tree.payoff(policies)
    assert payoff == pytest.approx(-payoff.T)
    expected = (value(tree, policies[0], policies[1]) - value(tree, policies[1], policies[0])) / 2
    assert payoff[0, 1] == pytest.approx(expected)


def test_a_mixture_wins_what_its_members_win_on_average(tree: GameTree) -> None:
    """A mean of the tables would not: it draws anew in every state."""
    policies, other = [drawn(tree, seed) for seed in range(3)], drawn(tree, 9)
    weights = np.array([0.5, 0.2, 0.3])
    mixture = tree.mixture(policies, weights)
    expected = float(weights @ tree.payoff([*policies, other])[:3, 3])
    assert tree.payoff([mixture, other])[0, 1] == pytest.approx(expected)
    mean = sum(weight * policy for weight, policy in zip(weights, policies, strict=True))
    assert tree.payoff([mean, other])[0, 1] != pytest.approx(expected, abs=1e-6)


def test_a_mixture_of_one_is_that_policy(tree: GameTree) -> None:
    policy = drawn(tree, 4)
    assert tree.mixture([policy, drawn(tree, 5)], np.array([1.0, 0.0])) == pytest.approx(policy)
    assert tree.nash_conv(policy) == pytest.approx(tree.states.nash_conv(constant(policy)))
    assert tree.nash_conv(policy) > 0.1
