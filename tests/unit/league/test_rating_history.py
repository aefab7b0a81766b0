"""The rating of a run over its evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.league.rating_history import rate_run
from ludus.league.ratings import ANCHOR_ELO, SCALE
from ludus.metrics.exporters.evaluations import Evaluation, Score

OPPONENTS = {"random": -600.0, "max_damage": -50.0, "heuristic": 0.0}  # true strengths


def evaluation(
    strength: float, matches: int, generator: np.random.Generator, *, final: bool = False, time_s: float = 60.0
) -> Evaluation:
    scores = []
    for name, opponent in OPPONENTS.items():
        wins = int(generator.binomial(matches, 1 / (1 + np.exp((opponent - strength) / SCALE))))
        scores.append(Score(name, matches, wins, matches - wins, 0))
    return Evaluation(time_s, 1, 1, final, tuple(scores))


def test_the_rating_follows_the_strength_with_the_anchor_at_1000() -> None:
    generator = np.random.default_rng(1)
    strengths = [-400.0, -100.0, 50.0, 200.0]
    ratings = rate_run([evaluation(strength, 400, generator) for strength in strengths])
    assert ratings is not None
    assert ratings.anchor == "heuristic"
    assert ratings.opponents["heuristic"].elo == ANCHOR_ELO
    assert [each.elo - ANCHOR_ELO for each in ratings.evaluations] == pytest.approx(strengths, abs=60)
    for each, strength in zip(ratings.evaluations, strengths, strict=True):
        assert each.low - 15 < strength + ANCHOR_ELO < each.high + 15
    assert ratings.opponents["random"].elo < 600


def test_two_runs_of_one_strength_get_comparable_ratings() -> None:
    """Their ratings differ by no more than the intervals say, though one run was much weaker before."""
    generator = np.random.default_rng(2)
    one = rate_run([*(evaluation(at, 200, generator) for at in (-500, -300)), evaluation(100, 2000, generator)])
    other = rate_run([*(evaluation(at, 200, generator) for at in (60, 90)), evaluation(100, 2000, generator)])
    assert one is not None
    assert other is not None
    first, second = one.evaluations[-1], other.evaluations[-1]
    assert abs(first.elo - second.elo) < (first.high - first.low + second.high - second.low) / 2


def test_a_later_evaluation_narrows_earlier_intervals_little_and_never_moves_the_anchor() -> None:
    generator = np.random.default_rng(3)
    first = evaluation(0, 200, generator)
    alone, both = rate_run([first]), rate_run([first, evaluation(100, 4000, generator)])
    assert alone is not None
    assert both is not None
    assert both.evaluations[0].elo == pytest.approx(alone.evaluations[0].elo, abs=30)
    assert both.opponents["heuristic"] == alone.opponents["heuristic"]


def test_a_game_with_one_seat_and_a_run_without_evaluations_have_no_rating() -> None:
    assert rate_run([]) is None
    assert rate_run([Evaluation(1, 1, 1, True, (Score("none", 10, 0, 0, 10),))]) is None
    assert rate_run([Evaluation(1, 1, 1, True, ())]) is None


def test_another_anchor_can_be_named() -> None:
    ratings = rate_run([evaluation(0, 100, np.random.default_rng(4))], "random")
    assert ratings is not None
    assert ratings.anchor == "random"
    assert ratings.evaluations[0].elo > 1300
