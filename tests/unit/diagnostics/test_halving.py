"""Successive halving on lists of fake rates."""

from __future__ import annotations

import random

import pytest

from ludus.diagnostics import halving
from ludus.diagnostics.halving import Round


@pytest.mark.parametrize("configurations", [1, 2, 3, 7, 18, 100])
@pytest.mark.parametrize("trials", [1, 2, 3, 5, 8, 13, 30, 64, 500])
def test_rounds_never_take_more_trials_than_there_are(configurations: int, trials: int) -> None:
    plan = halving.rounds(configurations, trials)
    assert 0 < sum(each.trials for each in plan) <= trials
    assert all(each.configurations <= configurations and 1 <= each.repeats <= halving.MOST_REPEATS for each in plan)


def test_each_round_has_half_of_the_configurations_down_to_two() -> None:
    assert [each.configurations for each in halving.rounds(18, 500)] == [18, 9, 5, 3, 2]
    assert [each.configurations for each in halving.rounds(4, 500)] == [4, 2]
    assert [each.configurations for each in halving.rounds(1, 500)] == [1]


def test_later_rounds_repeat_more_often() -> None:
    repeats = [each.repeats for each in halving.rounds(18, 60)]
    assert repeats == sorted(repeats)
    assert repeats[0] == 1 < repeats[-1]


def test_too_few_trials_leave_configurations_out_rather_than_the_halving() -> None:
    assert halving.rounds(18, 16) == (Round(8, 1), Round(4, 1), Round(2, 2))


def test_too_few_trials_for_two_rounds_measure_in_one() -> None:
    assert halving.rounds(18, 3) == (Round(2, 1),)
    assert halving.rounds(18, 1) == (Round(1, 1),)


def test_nothing_to_measure_has_no_rounds() -> None:
    assert halving.rounds(0, 10) == halving.rounds(10, 0) == ()


def test_configurations_are_ranked_by_their_median() -> None:
    rates = {"steady": [10.0, 10.0, 10.0], "lucky": [30.0, 5.0, 5.0], "failed": [], "fast": [11.0, 12.0]}
    assert halving.ranked(rates) == ["fast", "steady", "lucky"]


def test_equal_configurations_keep_their_order() -> None:
    assert halving.ranked({"present": [1.0], "other": [1.0]}) == ["present", "other"]


def test_the_best_of_noisy_configurations_wins_nearly_always() -> None:
    """Rates of 100, 99, 98 ... with a noise of 3%, as on a busy machine: one of the four best must win."""
    successes = 0
    for seed in range(200):
        noise = random.Random(seed)
        standing = list(range(12))
        noise.shuffle(standing)
        rates: dict[int, list[float]] = {each: [] for each in standing}
        for each in halving.rounds(12, 40):
            standing = standing[: each.configurations]
            for _ in range(each.repeats):
                for key in standing:
                    rates[key].append((100 - key) * noise.gauss(1, 0.03))
            standing = halving.ranked({key: rates[key] for key in standing})
        successes += standing[0] <= 3
    assert successes >= 170
