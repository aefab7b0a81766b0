"""The toy games have the answers they claim, checked against slow and obvious twins."""

from __future__ import annotations

import asyncio
import time
from functools import cache
from typing import Literal

import numpy as np
import pytest

from ludus.games.toy.game import game
from ludus.games.toy.matches import WaitingMatch, best_actions, new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.sdk.match import Turn
from ludus.spec import GameSpec
from ludus.types import Arrivals, Resumable


@cache
def mover_wins(pile: int) -> bool:
    return any(pile >= take and not mover_wins(pile - take) for take in (1, 2, 3))


def shown(spec: GameSpec, index: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    obs = np.zeros((1, spec.obs.nbytes), np.uint8)
    spec.obs.leaf(obs, spec.obs.leaves[0].name)[0, index] = 1.0
    return obs


def test_best_action_of_nim_wins_wherever_a_win_exists() -> None:
    spec = spec_of(ToyOptions(pile=30))
    for pile in range(1, 31):
        take = int(best_actions(spec, shown(spec, pile))[0]) + 1
        assert 1 <= take <= min(3, pile)
        if mover_wins(pile):
            assert not mover_wins(pile - take)


def test_nim_alternates_and_masks_what_the_pile_does_not_hold() -> None:
    options = ToyOptions(pile=4)
    match = new_match(options, spec_of(options))
    turn = match.start(1)
    assert (turn.seats, turn.legal.tolist()) == ((0,), [[True, True, True]])
    turn = match.advance({0: 2})
    assert (turn.seats, turn.legal.tolist()) == ((1,), [[True, False, False]])
    turn = match.advance({1: 0})
    assert turn.score == (0.0, 1.0)
    assert turn.reward.tolist() == [-1.0, 1.0]


def test_called_symbols_successor_beats_every_other_choice() -> None:
    options = ToyOptions(game="rps", rounds=1)
    spec = spec_of(options)
    for seed in range(10):
        match = new_match(options, spec)
        turn = match.start(seed)
        assert turn.seats == (0, 1)
        best = best_actions(spec, turn.obs)
        assert best[0] == best[1]
        for other in range(3):
            end = new_match(options, spec)
            end.start(seed)
            score = end.advance({0: int(best[0]), 1: other}).score
            assert score == ((0.5, 0.5) if other == best[0] else (1.0, 0.0))


def test_identity_pays_for_what_it_shows() -> None:
    options = ToyOptions(game="identity", rounds=3)
    spec = spec_of(options)
    match = new_match(options, spec)
    turn, earned = match.start(5), 0.0
    while not turn.over:
        turn = match.advance({0: int(best_actions(spec, turn.obs)[0])})
        earned += float(turn.reward[0])
    assert earned == 3.0
    assert turn.score == (1.0,)


def test_recall_shows_its_cue_once_and_pays_for_it_at_the_end() -> None:
    options = ToyOptions(game="recall", rounds=4, actions=3)
    spec = spec_of(options)
    forbidden = set()
    for seed in range(20):
        cue = int(spec.obs.leaf(new_match(options, spec).start(seed).obs, "cue").argmax())
        for answer in range(3):
            match = new_match(options, spec)
            turn, seen = match.start(seed), list[int]()
            while len(seen) < 3:
                seen.append(int(spec.obs.leaf(turn.obs, "cue").argmax()))
                assert turn.legal.tolist() == [[True, False, False]]
                turn = match.advance({0: 0})
                assert turn.reward.tolist() == [0.0]
            assert seen == [cue, 3, 3]
            assert int(spec.obs.leaf(turn.obs, "cue").argmax()) == 4
            assert turn.legal.sum() == 2
            assert turn.legal[0, cue]
            if not turn.legal[0, answer]:
                forbidden.add((cue, answer))
                continue
            end = match.advance({0: answer})
            assert end.score == (float(answer == cue),)
            assert end.reward.tolist() == [float(answer == cue)]
    assert len(forbidden) == 6  # every wrong answer at times: the mask does not tell the cue


def test_best_action_of_cards_is_the_highest_card_of_the_suit_as_what_it_counts() -> None:
    options = ToyOptions(game="cards", rounds=1, actions=5)
    spec = spec_of(options)
    copied = 0
    for seed in range(100):
        turn = new_match(options, spec).start(seed)
        leaf = {each.name: spec.obs.leaf(turn.obs, each.name)[0].tolist() for each in spec.obs.leaves}
        worth = {}
        for option, place in enumerate(leaf["option_card"]):
            assert bool(turn.legal[0, option]) == (place > 0)
            if place:
                original = leaf["copies"][place - 1]
                copied += original > 0
                suit, rank = divmod(leaf["card"][(original or place) - 1] - 1, 10)
                worth[option] = rank + 1 if suit == leaf["suit"].index(1) else 0
        best = int(best_actions(spec, turn.obs)[0])
        assert worth[best] == max(worth.values()) > 0
        for option, each in worth.items():
            match = new_match(options, spec)
            match.start(seed)
            assert match.advance({0: option}).score == (float(each == worth[best]),)
    assert copied > 50


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_perfect_recall_remembers_each_rows_cue_and_goes_on_from_its_state(rounds: int) -> None:
    options = ToyOptions(game="recall", rounds=rounds)
    spec = spec_of(options)
    first, second = (game.scripted["perfect"](spec, 1) for _ in range(2))
    assert isinstance(first, Resumable)
    assert isinstance(second, Resumable)
    matches = [new_match(options, spec) for _ in range(6)]
    turns = [match.start(seed) for seed, match in enumerate(matches)]
    for decision in range(rounds):
        arrivals = Arrivals(
            np.arange(10, 16, dtype=np.int32),
            np.arange(6),
            np.concatenate([turn.obs for turn in turns]),
            np.concatenate([turn.legal for turn in turns]),
            np.zeros(6, np.float32),
            np.full(6, decision == 0),
        )
        player = first if decision % 2 == 0 else second
        action = player.act(arrivals).action
        (second if player is first else first).restore(player.state())
        turns = [match.advance({0: int(one)}) for match, one in zip(matches, action, strict=True)]
    assert [turn.score for turn in turns] == [(1.0,)] * 6


@pytest.mark.parametrize("name", ["identity", "nim", "rps", "recall"])
def test_same_seed_and_actions_give_the_same_match(name: Literal["identity", "nim", "rps", "recall"]) -> None:
    def log(seed: int) -> str:
        options = ToyOptions(game=name)
        match = new_match(options, spec_of(options))
        turn = match.start(seed)
        while not turn.over:
            turn = match.advance({seat: int(turn.legal[i].argmax()) for i, seat in enumerate(turn.seats)})
        return turn.log

    assert log(3) == log(3)
    assert log(3) != log(4)


def test_random_policy_uses_every_legal_action_and_no_other() -> None:
    spec = spec_of(ToyOptions())
    turn = Turn((0,), shown(spec, 2), np.array([[True, True, False]]), np.zeros(2, np.float32))
    n = 200
    arrivals = Arrivals(
        np.arange(n, dtype=np.int32),
        np.arange(n, dtype=np.int64),
        np.repeat(turn.obs, n, axis=0),
        np.repeat(turn.legal, n, axis=0),
        np.zeros(n, np.float32),
        np.zeros(n, np.bool_),
    )
    counts = np.bincount(game.scripted["random"](spec, 1).act(arrivals).action, minlength=3)
    assert counts[2] == 0
    assert min(counts[0], counts[1]) > 60


def test_matches_that_wait_do_so_at_the_same_time_and_play_the_same() -> None:
    options = ToyOptions(game="identity", rounds=2)
    spec, wait_s = spec_of(options), 0.2

    async def played(seed: int) -> Turn:
        match = WaitingMatch(new_match(options, spec), wait_s)
        await match.start(seed)
        await match.advance({0: 1})
        return await match.advance({0: 2})

    async def all_played() -> list[Turn]:
        return await asyncio.gather(*(played(seed) for seed in range(20)))

    began_s = time.monotonic()
    turns = asyncio.run(all_played())
    assert 2 * wait_s <= time.monotonic() - began_s < 20 * wait_s
    for seed, turn in enumerate(turns):
        match = new_match(options, spec)
        match.start(seed)
        match.advance({0: 1})
        assert match.advance({0: 2}).log == turn.log
