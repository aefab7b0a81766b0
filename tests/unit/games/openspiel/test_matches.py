from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from ludus.games.openspiel.loading import load
from ludus.games.openspiel.matches import LEAF, SpielMatch, draw, spec_of
from ludus.games.openspiel.options import SpielOptions
from ludus.sdk.match import Turn

PASS, BET = 0, 1


def played(match: SpielMatch, seed: int, choose: random.Random) -> list[Turn]:
    turns = [match.start(seed)]
    while not turns[-1].over:
        last = turns[-1]
        action = choose.choice(np.flatnonzero(last.legal[0]).tolist())
        turns.append(match.advance({last.seats[0]: action}))
    return turns


def match_of(name: str) -> SpielMatch:
    options = SpielOptions(name)
    game = load(options)
    return SpielMatch(game, spec_of(game, options))


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_rewards_sum_to_nothing_and_decide_the_score(name: str) -> None:
    match, choose = match_of(name), random.Random(1)
    for seed in range(50):
        turns = played(match, seed, choose)
        earned = np.sum([turn.reward for turn in turns], axis=0)
        assert earned.sum() == 0
        assert turns[-1].score == ((0.5, 0.5) if earned[0] == 0 else (float(earned[0] > 0), float(earned[1] > 0)))


def test_a_seed_decides_the_cards_and_every_deal_comes_up() -> None:
    spec = spec_of(load(SpielOptions()), SpielOptions())
    match = match_of("kuhn_poker")

    def hands(seed: int) -> tuple[int, int]:
        first = match.start(seed)
        second = match.advance({0: PASS})
        card = slice(2, 5)  # after the one-hot of the player
        return tuple(int(spec.obs.leaf(turn.obs, LEAF)[0, card].argmax()) for turn in (first, second))  # type: ignore[return-value]  # a pair

    dealt = Counter(hands(seed) for seed in range(600))
    assert [hands(seed) for seed in range(20)] == [hands(seed) for seed in range(20)]
    assert set(dealt) == {(first, second) for first in range(3) for second in range(3) if first != second}
    assert min(dealt.values()) > 60  # of 100 expected


def test_a_called_bet_pays_two_to_the_higher_card() -> None:
    match = match_of("kuhn_poker")
    match.start(3)
    match.advance({0: BET})
    end = match.advance({1: BET})
    assert end.over
    assert sorted(end.reward.tolist()) == [-2.0, 2.0]
    assert end.log.splitlines()[0] == "seed 3"
    assert end.log.splitlines()[-2:] == ["0: Bet", "1: Bet"]


def test_chance_is_drawn_by_its_probabilities_and_never_past_the_last_outcome() -> None:
    outcomes = [(7, 0.25), (8, 0.5), (9, 0.25)]
    assert [draw(outcomes, uniform) for uniform in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.999)] == [7, 7, 8, 8, 9, 9]
    assert draw([(1, 0.3), (2, 0.3)], 0.9) == 2
