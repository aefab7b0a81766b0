"""Payoffs of joint actions become worlds of a matrix game; what is not whole is left out."""

from __future__ import annotations

import numpy as np

from ludus.games.showdown.search.tally import Tally


def test_worlds_are_added_and_the_best_action_is_played() -> None:
    tally = Tally([4, 7])
    tally.add([(0, 0, 0, -1.0), (0, 1, 0, 0.5), (1, 0, 0, 0.2), (1, 1, 0, 0.3)])
    assert [payoffs.tolist() for payoffs in tally.payoffs] == [[[-1.0], [0.5]], [[0.2], [0.3]]]
    assert tally.best() == 7


def test_actions_of_the_foe_without_all_payoffs_are_left_out() -> None:
    tally = Tally([0, 1], np.zeros(2))
    tally.add([(0, 0, 0, 1.0), (0, 0, 1, 2.0), (0, 1, 1, 3.0), (1, 0, 0, 1.0)], [np.zeros(2), np.zeros(1)])
    assert [payoffs.tolist() for payoffs in tally.payoffs] == [[[2.0], [3.0]]]


def test_a_later_round_adds_to_the_earlier_ones() -> None:
    tally = Tally([0, 1])
    tally.add([(0, 0, 0, 1.0), (0, 1, 0, 0.0)])
    tally.add([(0, 0, 0, -3.0), (0, 1, 0, 0.0)])
    assert len(tally.payoffs) == 2
    assert tally.best() == 1
