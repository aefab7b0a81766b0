"""The sequential test on simulated pairs of matches."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.league.sprt import Comparison, decide, elo_of, share_of


def played_until_decided(elo: float, generator: np.random.Generator, low: float, high: float) -> Comparison:
    """Play pairs without ties, both matches with the same share of wins, until the test decides."""
    pairs = np.zeros(5, np.int64)
    share = share_of(elo)
    for _ in range(2000):
        wins = generator.binomial(2, share, 50)
        pairs += np.bincount(2 * wins, minlength=5)
        verdict = decide(pairs, low, high)
        if verdict.outcome != "undecided":
            return verdict
    raise AssertionError("the test did not end")


@pytest.mark.parametrize(("elo", "outcome"), [(0.0, "not better"), (50.0, "better")])
def test_errors_are_as_rare_as_they_should_be(elo: float, outcome: str) -> None:
    generator = np.random.default_rng(1)
    wrong = sum(played_until_decided(elo, generator, 0.0, 50.0).outcome != outcome for _ in range(400))
    assert wrong / 400 < 0.075  # 5%, and two standard errors


def test_an_undecided_test_says_about_how_many_matches_are_missing() -> None:
    generator = np.random.default_rng(2)
    pairs = np.bincount(2 * generator.binomial(2, share_of(40.0), 200), minlength=5)
    verdict = decide(pairs, 0.0, 20.0)
    assert verdict.outcome == "undecided"
    assert verdict.interval[0] < verdict.elo < verdict.interval[1]
    needed = []
    for _ in range(50):
        later, matches = pairs.copy(), 0
        while decide(later, 0.0, 20.0).outcome == "undecided":
            later += np.bincount(2 * generator.binomial(2, share_of(verdict.elo), 10), minlength=5)
            matches += 20
        needed.append(matches)
    assert np.mean(needed) / 2 < verdict.more_matches < np.mean(needed) * 2


def test_without_matches_the_estimate_is_that_of_chance() -> None:
    verdict = decide(np.zeros(5, np.int64), 0.0, 10.0)
    assert (verdict.outcome, verdict.matches) == ("undecided", 0)
    assert 1_000 < verdict.more_matches < 100_000


def test_pairs_that_vary_less_decide_sooner() -> None:
    steady = decide(np.array([0, 10, 200, 40, 0]), 0.0, 20.0)
    wild = decide(np.array([55, 0, 125, 0, 70]), 0.0, 20.0)
    assert steady.elo == pytest.approx(wild.elo, abs=1)
    assert steady.llr > wild.llr > 0


def test_equal_results_do_not_decide_before_there_are_enough() -> None:
    assert decide(np.array([0, 0, 0, 0, 5]), 0.0, 10.0).outcome == "undecided"
    assert decide(np.array([0, 0, 0, 0, 50]), 0.0, 10.0).outcome == "better"
    assert decide(np.array([50, 0, 0, 0, 0]), 0.0, 10.0).outcome == "not better"


def test_elo_and_share_are_each_others_inverse() -> None:
    assert [elo_of(share_of(elo)) for elo in (-300.0, 0.0, 12.5)] == pytest.approx([-300.0, 0.0, 12.5])
    assert (elo_of(0.0), elo_of(1.0)) == (-np.inf, np.inf)
    with pytest.raises(ValueError, match="must be below"):
        decide(np.zeros(5, np.int64), 10.0, 0.0)
