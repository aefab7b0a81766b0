from __future__ import annotations

import pytest

from ludus.metrics.intervals import normal, wilson


def test_published_intervals_are_reproduced() -> None:
    low, high = wilson(374, 400)
    assert (round(low * 100, 1), round(high * 100, 1)) == (90.6, 95.5)


@pytest.mark.parametrize(("wins", "matches"), [(0, 10), (10, 10), (1, 2), (0, 1)])
def test_an_interval_holds_its_share_and_stays_between_none_and_all(wins: int, matches: int) -> None:
    low, high = wilson(wins, matches)
    assert 0 <= low <= wins / matches <= high <= 1
    assert low < high


def test_nothing_played_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_more_wins_than_matches_are_refused() -> None:
    with pytest.raises(ValueError, match="3 wins in 2"):
        wilson(3, 2)


def test_the_interval_of_a_mean_narrows_with_the_number_of_values() -> None:
    few, many = normal([1.0, 3.0] * 5), normal([1.0, 3.0] * 500)
    assert few[0] < many[0] < 2.0 < many[1] < few[1]
    assert many[1] - many[0] == pytest.approx(2 * 1.96 / 1000**0.5, rel=0.01)
    assert normal([7.0]) == (7.0, 7.0)
    assert normal([]) == (0.0, 0.0)
