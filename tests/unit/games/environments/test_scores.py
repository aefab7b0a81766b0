from __future__ import annotations

import pytest

from ludus.games.environments.scores import by_returns


@pytest.mark.parametrize(
    ("returns", "scores"),
    [
        ([1.0, -1.0], (1.0, 0.0)),
        ([-1.0, 1.0], (0.0, 1.0)),
        ([0.0, 0.0], (0.5, 0.5)),
        ([3.0], (0.5,)),
        ([1.0, 2.0, 3.0], (0.0, 0.5, 1.0)),
        ([5.0, 5.0, 1.0], (0.75, 0.75, 0.0)),
    ],
)
def test_a_seat_scores_the_share_of_the_others_it_has_beaten(returns: list[float], scores: tuple[float, ...]) -> None:
    assert by_returns(returns) == scores
