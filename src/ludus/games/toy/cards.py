"""The toy game cards: one seat, a hand of cards in any order. A suit is called, and the highest card of that suit earns
one point. A card may copy another card of the hand; it then counts as that card.

The hand is a list of entities, and each action is an option that refers to one of them, in an order that changes at
each decision. What a card is stands in a table. A net that reads ids and positions as numbers cannot learn the game in
reasonable time.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ludus.games.toy.options import ToyOptions
from ludus.spec import GameSpec, ObsSpec

SUITS, RANKS = 4, 10
FEWEST = 2  # cards of a hand
COPIES = 0.3  # share of cards that copy another


def spec_of(options: ToyOptions, schema: int) -> GameSpec:
    hand = options.actions
    cards = np.zeros((1 + SUITS * RANKS, SUITS + 1), np.float32)  # row 0: no card
    for card in range(1, len(cards)):
        cards[card, suit_of(card)], cards[card, SUITS] = 1.0, rank_of(card) / RANKS
    layout = {
        "game": "cards",
        "entities": {"hand": ["card", "copies"]},
        "options": ["option_card"],
        "refers": {"copies": "hand", "option_card": "hand"},
    }
    leaves = {
        "suit": ("uint8", (SUITS,)),
        "card": ("uint8", (hand,)),
        "copies": ("uint16", (hand,)),
        "option_card": ("uint16", (hand,)),
    }
    return GameSpec("toy/cards", 1, hand, ObsSpec.pack(leaves), schema, layout, {"card": cards})


def suit_of(card: int) -> int:
    return (card - 1) // RANKS


def rank_of(card: int) -> int:
    return (card - 1) % RANKS + 1


def _worths(spec: GameSpec) -> NDArray[np.int64]:
    """Return what each card [C, SUITS] is worth if a suit is called; 0 for cards of another suit."""
    cards = spec.tables["card"]
    worths: NDArray[np.int64] = np.rint(cards[:, :SUITS] * cards[:, SUITS:] * RANKS).astype(np.int64)
    return worths


def best_actions(spec: GameSpec, obs: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the best action [n] of each row, the first of several equal ones."""
    leaf = {name: spec.obs.leaf(obs, name).astype(np.int64) for name in ("suit", "card", "copies", "option_card")}
    copied = np.take_along_axis(leaf["card"], np.maximum(leaf["copies"] - 1, 0), axis=1)
    counts_as = np.where(leaf["copies"] > 0, copied, leaf["card"])
    offered = np.take_along_axis(counts_as, np.maximum(leaf["option_card"] - 1, 0), axis=1)
    worth = _worths(spec)[offered, leaf["suit"].argmax(axis=1)[:, None]]
    best: NDArray[np.int32] = np.where(leaf["option_card"] > 0, worth, 0).argmax(axis=1).astype(np.int32)
    return best


class CardRules:
    def __init__(self, options: ToyOptions) -> None:
        self._rounds, self._places = options.rounds, options.actions

    def start(self, random: random.Random) -> None:
        self._random = random
        self._rounds_left, self._points = self._rounds, 0
        self._deal()

    def seats(self) -> tuple[int, ...]:
        return (0,)

    def show(self, spec: GameSpec, obs: NDArray[np.uint8]) -> None:
        """Write the hand and the options into observations [n, nbytes]."""
        leaf = {each.name: spec.obs.leaf(obs, each.name) for each in spec.obs.leaves}
        leaf["suit"][:, self._suit] = 1
        for place, card in self._hand.items():
            leaf["card"][:, place] = card
        for place, copied in self._copies.items():
            leaf["copies"][:, place] = 1 + copied
        for option, place in self._options.items():
            leaf["option_card"][:, option] = 1 + place

    def legal(self) -> list[bool]:
        return [option in self._options for option in range(self._places)]

    def play(self, actions: Mapping[int, int]) -> list[float]:
        worth = {option: self._worth(place) for option, place in self._options.items()}
        hit = worth[actions[0]] == max(worth.values())
        self._points += hit
        self._rounds_left -= 1
        self._deal()
        return [float(hit)]

    def score(self) -> tuple[float, ...] | None:
        return (self._points / self._rounds,) if self._rounds_left == 0 else None

    def _deal(self) -> None:
        """Deal a hand, with one option for each card, and call the suit of one of them."""
        random, cards = self._random, self._random.randint(FEWEST, self._places)
        places = random.sample(range(self._places), cards)  # the other places are empty
        self._hand = dict(zip(places, random.sample(range(1, 1 + SUITS * RANKS), cards), strict=True))
        self._copies = {
            place: random.choice([other for other in places if other != place])
            for place in places
            if random.random() < COPIES
        }
        self._options = dict(zip(random.sample(range(self._places), cards), places, strict=True))
        self._suit = suit_of(self._counts_as(random.choice(places)))

    def _counts_as(self, place: int) -> int:
        return self._hand[self._copies.get(place, place)]

    def _worth(self, place: int) -> int:
        card = self._counts_as(place)
        return rank_of(card) if suit_of(card) == self._suit else 0
