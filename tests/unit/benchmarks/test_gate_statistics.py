"""The answers of the gate, on ratios that are drawn with a known slowdown and known noise."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from benchmarks.gating import statistics
from benchmarks.gating.statistics import BASE, CONTROL, FEWEST_TRIALS, HEAD, ORDER, Answer, Verdict


def drawn(slowdown: float, noise: float, trials: int, seed: int, bias: float = 0.0) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    logs = random.normal(0, noise, (2, trials)) + np.log([[1 + slowdown], [1 + bias]])
    return {HEAD: np.exp(logs[0]).tolist(), CONTROL: np.exp(logs[1]).tolist()}


def verdict(slowdown: float, noise: float, trials: int, seed: int = 1, bias: float = 0.0) -> Verdict:
    return statistics.verdict(drawn(slowdown, noise, trials, seed, bias))


def test_a_slowdown_of_5_percent_is_caught_and_named() -> None:
    result = verdict(0.05, 0.01, 12)
    assert result.answer is Answer.SLOWER
    assert result.head.low < 1.05 < result.head.high
    assert result.sentence.startswith(f"slower by {result.head.ratio - 1:.1%}")


def test_an_unchanged_commit_is_hardly_ever_called_slower() -> None:
    answers = Counter(verdict(0.0, 0.015, 9, seed).answer for seed in range(300))
    assert answers[Answer.SLOWER] <= 1
    assert answers[Answer.NOT_SLOWER] > 250


def test_a_faster_commit_is_not_slower_and_is_said_to_be_faster() -> None:
    result = verdict(-0.1, 0.01, 9)
    assert result.answer is Answer.NOT_SLOWER
    assert "faster by 9" in result.sentence


def test_noise_that_hides_the_answer_asks_for_a_number_of_trials_that_gives_one() -> None:
    unsure = next(each for seed in range(9) if (each := verdict(0.06, 0.04, 9, seed)).answer is Answer.CANNOT_TELL)
    assert unsure.sentence == f"cannot tell: {unsure.more_trials} more trials"
    assert 2 <= unsure.more_trials < statistics.MOST_TRIALS
    enough = 9 + 2 * unsure.more_trials
    answers = Counter(verdict(0.06, 0.04, enough, seed).answer for seed in range(20))
    assert answers[Answer.SLOWER] >= 12
    assert not answers[Answer.NOT_SLOWER]


@pytest.mark.parametrize("trials", [0, 1, 2, FEWEST_TRIALS - 1])
def test_few_trials_give_no_answer_and_say_how_many_are_missing(trials: int) -> None:
    result = verdict(0.5, 0.001, trials)
    assert result.answer is Answer.CANNOT_TELL
    assert result.more_trials == FEWEST_TRIALS - trials


def test_a_control_that_differs_from_base_makes_the_answer_more_careful() -> None:
    assert verdict(0.045, 0.008, 12).answer is Answer.SLOWER
    assert verdict(0.045, 0.008, 12, bias=0.06).answer is Answer.CANNOT_TELL
    assert verdict(0.0, 0.008, 12, bias=0.06).answer is Answer.CANNOT_TELL


def test_one_disturbed_trial_does_not_move_the_ratio() -> None:
    ratios = drawn(0.0, 0.005, 12, 1)
    ratios[HEAD][3] = 3.0
    assert abs(statistics.interval(ratios[HEAD]).ratio - 1) < 0.01


def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(400):
        found = statistics.interval(drawn(0.02, 0.02, 12, seed)[HEAD])
        inside += found.low <= 1.02 <= found.high
    assert inside / 400 > 0.95


def test_the_lowest_cost_of_a_contestant_counts_in_a_trial() -> None:
    costs = [(BASE, 2.0), (HEAD, 4.0), (CONTROL, 2.2), (HEAD, 3.0), (BASE, 2.5), (CONTROL, 9.0)]
    assert statistics.trial_ratios(costs) == {HEAD: 1.5, CONTROL: 1.1}


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf")])
def test_a_cost_that_is_no_positive_number_is_refused(cost: float) -> None:
    with pytest.raises(ValueError, match="expected a positive number"):
        statistics.trial_ratios([(BASE, 1.0), (HEAD, cost), (CONTROL, 1.0)])


def test_the_order_follows_each_contestant_equally_often_by_each_other_one() -> None:
    followed = Counter(zip(ORDER, ORDER[1:] + ORDER[:1], strict=True))
    assert all(first != second for first, second in followed)
    assert max(followed.values()) - min(followed.values()) <= 2
    assert set(Counter(ORDER).values()) == {len(ORDER) // 3}


@pytest.mark.parametrize(
    ("head", "again", "answer"),
    [
        (1000, 1000, Answer.NOT_SLOWER),
        (1050, 1001, Answer.SLOWER),
        (1029, 1000, Answer.NOT_SLOWER),
        (1031, 1020, Answer.CANNOT_TELL),
        (900, 1000, Answer.NOT_SLOWER),
    ],
)
def test_counts_are_compared_without_a_bootstrap(head: int, again: int, answer: Answer) -> None:
    assert statistics.counted_verdict(1000, head, again).answer is answer
