"""The numbers that scripted opponents throw: uniform, and the same for the same seed, match, seat and field."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from ludus.games.showdown.scripted.dice import MOST_DICE, Dice
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

ROWS = 6000
ACTIONS = 10


@pytest.fixture
def spec() -> GameSpec:
    obs = ObsSpec.pack({"species": ("uint16", (12,)), "field": ("fixed16", (15,)), "duel": ("fixed8", (24,))})
    return GameSpec("test", 2, ACTIONS, obs, 1, {}, {})


@pytest.fixture
def arrivals(spec: GameSpec) -> Arrivals:
    """Both seats of many matches, in the same turn."""
    obs = np.zeros((ROWS, spec.obs.nbytes), np.uint8)
    match = np.arange(ROWS, dtype=np.int64) // 2
    nothing = np.zeros(ROWS, np.float32)
    legal = np.ones((ROWS, ACTIONS), np.bool_)
    return Arrivals(np.arange(ROWS, dtype=np.int32), match, obs, legal, nothing, np.zeros(ROWS, np.bool_))


def with_turn(spec: GameSpec, arrivals: Arrivals, turn: int) -> Arrivals:
    obs = arrivals.obs.copy()
    field = spec.obs.leaf(obs, "field")
    field[:, 3] = turn
    return replace(arrivals, obs=obs)


def correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def test_numbers_are_spread_evenly_over_zero_to_one(spec: GameSpec, arrivals: Arrivals) -> None:
    numbers = Dice(spec, 1).throw(arrivals, MOST_DICE)
    assert numbers.shape == (ROWS, MOST_DICE)
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert abs(counts / numbers.size - 0.05).max() < 0.005


def test_seats_turns_seeds_and_numbers_of_a_throw_have_nothing_to_do_with_each_other(
    spec: GameSpec, arrivals: Arrivals
) -> None:
    dice = Dice(spec, 1)
    numbers = dice.throw(arrivals, 2)
    later = dice.throw(with_turn(spec, arrivals, 1), 2)
    others = Dice(spec, 2).throw(arrivals, 2)
    assert abs(correlation(numbers[0::2, 0], numbers[1::2, 0])) < 0.06
    assert abs(correlation(numbers[2:, 0], numbers[:-2, 0])) < 0.06
    assert abs(correlation(numbers[:, 0], numbers[:, 1])) < 0.06
    assert abs(correlation(numbers[:, 0], later[:, 0])) < 0.06
    assert abs(correlation(numbers[:, 0], others[:, 0])) < 0.06


def test_turn_after_turn_a_seat_takes_every_legal_action_about_equally_often(
    spec: GameSpec, arrivals: Arrivals
) -> None:
    dice, one = Dice(spec, 3), arrivals.take(np.array([7]))
    one.legal[0, 4:6] = False
    taken = np.array([dice.any_legal(with_turn(spec, one, turn))[0] for turn in range(4000)])
    counts = np.bincount(taken, minlength=ACTIONS)
    assert counts[4] == counts[5] == 0
    assert counts[one.legal[0]].min() > 420
    following = np.histogram2d(taken[:-1], taken[1:], bins=[range(ACTIONS + 1)] * 2)[0]
    assert following[np.ix_(one.legal[0], one.legal[0])].min() > 30  # of 62


def test_numbers_do_not_depend_on_the_slot_or_the_batch(spec: GameSpec, arrivals: Arrivals) -> None:
    dice = Dice(spec, 1)
    moved = replace(arrivals, row=arrivals.row[::-1] ^ np.int32(1))  # other slots, the same seats
    assert np.array_equal(dice.throw(moved, 1), dice.throw(arrivals, 1))
    some = np.array([5, 900, 33])
    assert np.array_equal(dice.throw(arrivals.take(some), 2), dice.throw(arrivals, 2)[some])
    assert np.array_equal(dice.any_legal(arrivals.take(some)), dice.any_legal(arrivals)[some])
