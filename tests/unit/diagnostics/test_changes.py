from __future__ import annotations

import random
import statistics

import pytest

from ludus.diagnostics.changes import changes
from ludus.metrics.intervals import student


def test_two_variants_give_the_interval_of_paired_differences() -> None:
    strengths = {("", 1): 0.2, ("", 2): 0.5, ("", 3): 0.8, ("a", 1): 0.25, ("a", 2): 0.56, ("a", 3): 0.85}
    interval = student([0.05, 0.06, 0.05])
    assert interval is not None
    change = changes(strengths, "")["a"]
    assert change.mean == pytest.approx(statistics.fmean([0.05, 0.06, 0.05]))
    assert change.interval == pytest.approx(interval)


def simulated(rng: random.Random, variants: int, seeds: int, effect: float) -> dict[tuple[str, int], float]:
    of_seed = [rng.gauss(0, 0.05) for _ in range(seeds)]
    return {
        (name, seed): 0.7 + of_seed[seed] + (effect if name == "1" else 0) + rng.gauss(0, 0.01)
        for name in ["", *map(str, range(1, variants))]
        for seed in range(seeds)
    }


def test_intervals_hold_the_truth_as_often_as_they_say_and_more_variants_make_them_narrower() -> None:
    rng = random.Random(1)
    widths = {}
    for variants in (2, 8):
        every = [changes(simulated(rng, variants, 3, -0.02), "")["1"].interval for _ in range(1000)]
        intervals = [each for each in every if each is not None]
        assert 0.93 < sum(low <= -0.02 <= high for low, high in intervals) / 1000 < 0.97
        widths[variants] = statistics.fmean(high - low for low, high in intervals)
    assert widths[8] < 0.6 * widths[2]


def test_missing_trainings_leave_the_seed_of_others_paired() -> None:
    strengths = {("", 1): 0.2, ("", 2): 0.8, ("a", 1): 0.3, ("a", 2): 0.9, ("b", 2): 0.7, ("b", 3): 0.1}
    by_variant = changes(strengths, "")
    assert by_variant["b"].mean == pytest.approx(-0.1)  # by seed 2: nothing to compare with at seed 3
    assert by_variant["a"].mean == pytest.approx(0.1)


def test_one_seed_has_no_interval_and_no_base_no_change() -> None:
    assert changes({("", 1): 0.2, ("a", 1): 0.3}, "")["a"].interval is None
    assert changes({("a", 1): 0.3}, "") == {}
    assert changes({}, "") == {}
