"""Regret matching finds the solutions of games with known ones."""

from __future__ import annotations

import numpy as np

from ludus.policies import matrix_games

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def test_rock_paper_scissors_is_mixed_evenly() -> None:
    mixture = matrix_games.solve([ROCK_PAPER_SCISSORS], rounds=2000)
    assert np.abs(mixture - 1 / 3).max() < 0.02


def test_a_game_with_an_uneven_solution_is_solved() -> None:
    # ours plays row 0 with probability q so that 3q - (1 - q) = -q + (1 - q): q = 1/3
    mixture = matrix_games.solve([np.array([[3.0, -1.0], [-1.0, 1.0]])], rounds=3000)
    assert abs(mixture[0] - 1 / 3) < 0.02


def test_a_dominated_action_is_not_played() -> None:
    mixture = matrix_games.solve([np.array([[1.0, 2.0], [0.0, 1.5]])])
    assert mixture[0] > 0.99


def test_worlds_of_different_widths_are_averaged() -> None:
    # alone, each world asks for another action; together the first is worth more: 2 - 1 against 0
    worlds = [np.array([[2.0], [0.0]]), np.array([[-1.0, 5.0, 5.0], [0.0, 5.0, 5.0]])]
    assert matrix_games.solve(worlds)[0] > 0.99
    assert matrix_games.solve(worlds[1:])[1] > 0.99


def test_the_foe_knows_its_world() -> None:
    # one foe that did not know would have to choose one column; this one punishes row 0 in both worlds
    worlds = [np.array([[-1.0, 2.0], [0.0, 0.0]]), np.array([[2.0, -1.0], [0.0, 0.0]])]
    assert matrix_games.solve(worlds)[1] > 0.95
    assert matrix_games.solve([(worlds[0] + worlds[1]) / 2])[0] > 0.95


def test_a_bias_decides_between_equals() -> None:
    level = np.zeros((2, 2))
    assert matrix_games.solve([level], own_bias=np.array([0.0, 0.1]))[1] > 0.95
    foe = matrix_games.solve([np.array([[1.0, -0.01], [0.0, 0.0]])], foe_bias=[np.array([5.0, 0.0])])
    assert foe[0] > 0.95
