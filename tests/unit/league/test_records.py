from __future__ import annotations

import numpy as np
import pytest

from ludus.league.records import NONE, Record, draw, drawn_win_rates, merged, pfsp_weights


def test_a_result_counts_half_after_the_half_life() -> None:
    record = NONE.plus(1.0, 10, 50).plus(0.0, 10, 50)
    later = record.at(60, 50)
    assert (later.wins, later.losses, later.matches) == (0.5, 0.5, 2)
    assert record.at(5, 50) == record


def test_records_of_actors_add_up_at_the_same_age() -> None:
    one, other = (
        {"past:1": Record(4.0, 2.0, 0, 6)},
        {"past:1": Record(1.0, 3.0, 50, 4), "past:2": Record(1.0, 0.0, 1, 1)},
    )
    total = merged((one, other), 50)
    assert total["past:1"] == Record(3.0, 4.0, 50, 10)
    assert total["past:2"] == other["past:2"]
    assert merged((other, one), 50) == total


def test_an_opponent_without_matches_may_have_any_strength() -> None:
    generator = np.random.default_rng(1)
    drawn = np.array([drawn_win_rates([NONE, Record(30.0, 70.0)], generator) for _ in range(4000)])
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.02)
    assert drawn[:, 0].std() == pytest.approx(12**-0.5, abs=0.02)
    assert drawn[:, 1].mean() == pytest.approx(31 / 102, abs=0.01)
    assert drawn[:, 1].std() < 0.06


def test_weightings_are_those_of_the_paper() -> None:
    p = np.array([0.0, 0.25, 0.5, 1.0])
    assert pfsp_weights(p, "squared").tolist() == [1.0, 0.5625, 0.25, 0.0]
    assert pfsp_weights(p, "variance").tolist() == [0.0, 0.1875, 0.25, 0.0]
    assert pfsp_weights(p, "capped").tolist() == [0.5, 0.5, 0.5, 0.0]


def test_opponents_are_drawn_in_proportion_to_their_weights_or_uniformly_without_any() -> None:
    generator = np.random.default_rng(2)
    counts = np.bincount([draw(np.array([1.0, 0.0, 3.0]), generator) for _ in range(4000)], minlength=3)
    assert counts[1] == 0
    assert counts[2] == pytest.approx(3000, abs=120)
    assert {draw(np.zeros(3), generator) for _ in range(100)} == {0, 1, 2}


def test_the_rating_of_an_opponent_is_relative_to_the_learner() -> None:
    elo, error = Record(25.0, 75.0).elo
    assert elo == pytest.approx(187, abs=5)
    assert error == pytest.approx(40, abs=3)
    assert Record(75.0, 25.0).elo[0] == -elo
