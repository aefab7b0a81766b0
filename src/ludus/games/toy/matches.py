"""The toy games. Each has one best action in every state, which `best_actions` finds from the observation alone; only
recall asks for what was seen before.

identity  one seat; the observation shows the right action; one point for each right choice.
nim       two seats in turn take 1 to 3 from a pile; who takes the last one wins. Leave a multiple of 4.
rps       two seats or more at once; a symbol c of three is called for all to see; c+1 beats the other two.
recall    one seat; a cue is shown at the first decision and asked for at the last; one point for the right answer. In
          between there is one legal action; at the end one wrong answer of more than two is not legal.
cards     one seat; a hand of cards, a called suit, and options that refer to cards (cards.py); one point for each hit.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.games.environments.scores import by_returns
from ludus.games.toy import cards
from ludus.games.toy.options import ToyOptions
from ludus.sdk.match import Match, Turn
from ludus.spec import GameSpec, ObsSpec

SCHEMA = 1
NIM_TAKES = 3
RPS_SYMBOLS = 3


def spec_of(options: ToyOptions) -> GameSpec:
    if options.game == "cards":
        return cards.spec_of(options, SCHEMA)
    seats, actions, leaf, size = {
        "identity": (1, options.actions, "right", options.actions),
        "nim": (2, NIM_TAKES, "pile", options.pile + 1),
        "rps": (options.seats, RPS_SYMBOLS, "called", RPS_SYMBOLS),
        "recall": (1, options.actions, "cue", options.actions + len(("wait", "answer"))),
    }[options.game]
    obs = ObsSpec.pack({leaf: ("float32", (size,))})
    return GameSpec(f"toy/{options.game}", seats, actions, obs, SCHEMA, {"game": options.game})


def best_actions(spec: GameSpec, obs: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the best action [n] of each row. In a lost nim position all actions are equal, and the smallest is
    returned. The answer in the last turn of recall is not in its observation."""
    if spec.layout["game"] == "cards":
        return cards.best_actions(spec, obs)
    symbol: NDArray[np.intp] = spec.obs.leaf(obs, spec.obs.leaves[0].name).argmax(axis=1)
    best = {
        "identity": symbol,
        "nim": np.maximum(symbol % (NIM_TAKES + 1) - 1, 0),
        "rps": (symbol + 1) % RPS_SYMBOLS,
        "recall": np.where(symbol < spec.actions, symbol, 0),
    }[str(spec.layout["game"])]
    return best.astype(np.int32)


def new_match(options: ToyOptions, spec: GameSpec) -> Match:
    rules: dict[str, Callable[[ToyOptions], _Rules]] = {
        "identity": _Identity,
        "nim": _Nim,
        "rps": _Rps,
        "recall": _Recall,
        "cards": cards.CardRules,
    }
    return _ToyMatch(options, spec, rules[options.game](options))


class WaitingMatch:
    """A match that waits `wait_s` in each turn, like one on a server. All matches of a host wait at the same time."""

    def __init__(self, match: Match, wait_s: float) -> None:
        self._match = match
        self._wait_s = wait_s

    async def start(self, seed: int) -> Turn:
        return self._match.start(seed)

    async def advance(self, actions: Mapping[int, int]) -> Turn:
        import asyncio  # most hosts start without

        await asyncio.sleep(self._wait_s)
        return self._match.advance(actions)


class _Rules(Protocol):
    def start(self, random: random.Random) -> None: ...
    def seats(self) -> tuple[int, ...]: ...
    def show(self, spec: GameSpec, obs: NDArray[np.uint8]) -> None: ...  # write into zeros [n, nbytes]
    def legal(self) -> list[bool]: ...
    def play(self, actions: Mapping[int, int]) -> list[float]: ...  # rewards
    def score(self) -> tuple[float, ...] | None: ...  # None: goes on


class _ToyMatch:
    """The part that all toy games share: truncation and slow turns."""

    def __init__(self, options: ToyOptions, spec: GameSpec, rules: _Rules) -> None:
        self._options = options
        self._spec = spec
        self._rules = rules
        self._turns = 0
        self._log: list[str] = []

    def start(self, seed: int) -> Turn:
        self._turns = 0
        self._log = [f"seed {seed}"]
        self._rules.start(random.Random(seed))
        return self._turn([0.0] * self._spec.seats)

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._turns += 1
        if self._options.slow_s:
            time.sleep(self._options.slow_s)
        self._log.append(" ".join(f"{seat}:{action}" for seat, action in sorted(actions.items())))
        return self._turn(self._rules.play(actions))

    def _turn(self, reward: list[float]) -> Turn:
        score = self._rules.score()
        truncated = score is None and 0 < self._options.truncate_after <= self._turns
        if truncated:
            score = (0.5,) * self._spec.seats
        seats = () if score is not None else self._rules.seats()
        obs = np.zeros((self._spec.seats if truncated else len(seats), self._spec.obs.nbytes), np.uint8)
        self._rules.show(self._spec, obs)
        legal = np.tile(np.array(self._rules.legal(), np.bool_), (len(seats), 1))
        facts = {"turns": float(self._turns)} if score is not None else {}
        log = "\n".join(self._log) if score is not None else ""
        return Turn(seats, obs, legal, np.array(reward, np.float32), score, truncated, facts, log)


class _Symbols(ABC):
    """The part that all games with one-hot observations share."""

    @abstractmethod
    def symbol(self) -> int:
        """Return the index of the 1 in the observation."""

    def show(self, spec: GameSpec, obs: NDArray[np.uint8]) -> None:
        spec.obs.leaf(obs, spec.obs.leaves[0].name)[:, self.symbol()] = 1.0


class _Identity(_Symbols):
    def __init__(self, options: ToyOptions) -> None:
        self._options = options

    def start(self, random: random.Random) -> None:
        self._random = random
        self._right = random.randrange(self._options.actions)
        self._rounds_left = self._options.rounds
        self._points = 0

    def seats(self) -> tuple[int, ...]:
        return (0,)

    def symbol(self) -> int:
        return self._right

    def legal(self) -> list[bool]:
        return [True] * self._options.actions

    def play(self, actions: Mapping[int, int]) -> list[float]:
        hit = actions[0] == self._right
        self._points += hit
        self._rounds_left -= 1
        self._right = self._random.randrange(self._options.actions)
        return [float(hit)]

    def score(self) -> tuple[float, ...] | None:
        return (self._points / self._options.rounds,) if self._rounds_left == 0 else None


class _Nim(_Symbols):
    def __init__(self, options: ToyOptions) -> None:
        self._largest = min(options.dealt or options.pile, options.pile)

    def start(self, random: random.Random) -> None:
        self._pile = random.randint(NIM_TAKES + 1, max(self._largest, NIM_TAKES + 1))
        self._mover = 0

    def seats(self) -> tuple[int, ...]:
        return (self._mover,)

    def symbol(self) -> int:
        return self._pile

    def legal(self) -> list[bool]:
        return [take <= self._pile for take in range(1, NIM_TAKES + 1)]

    def play(self, actions: Mapping[int, int]) -> list[float]:
        self._pile -= actions[self._mover] + 1
        self._mover = 1 - self._mover
        if self._pile:
            return [0.0, 0.0]
        return [-1.0, 1.0] if self._mover == 0 else [1.0, -1.0]

    def score(self) -> tuple[float, ...] | None:
        if self._pile:
            return None
        return (0.0, 1.0) if self._mover == 0 else (1.0, 0.0)


class _Rps(_Symbols):
    def __init__(self, options: ToyOptions) -> None:
        self._rounds, self._seats = options.rounds, options.seats

    def start(self, random: random.Random) -> None:
        self._random = random
        self._called = random.randrange(RPS_SYMBOLS)
        self._rounds_left = self._rounds
        self._returns = [0.0] * self._seats

    def seats(self) -> tuple[int, ...]:
        return tuple(range(self._seats))

    def symbol(self) -> int:
        return self._called

    def legal(self) -> list[bool]:
        return [True] * RPS_SYMBOLS

    def play(self, actions: Mapping[int, int]) -> list[float]:
        right = (self._called + 1) % RPS_SYMBOLS
        hits = [actions[seat] == right for seat in range(self._seats)]
        gains = [hit - (sum(hits) - hit) / (self._seats - 1) for hit in hits]
        self._returns = [total + gain for total, gain in zip(self._returns, gains, strict=True)]
        self._rounds_left -= 1
        self._called = self._random.randrange(RPS_SYMBOLS)
        return gains

    def score(self) -> tuple[float, ...] | None:
        return None if self._rounds_left else by_returns([round(each, 6) for each in self._returns])


class _Recall(_Symbols):
    def __init__(self, options: ToyOptions) -> None:
        self._options = options

    def start(self, random: random.Random) -> None:
        self._cue, other = random.sample(range(self._options.actions), 2)
        self._forbidden = other if self._options.actions > 2 else None  # else the mask would give the cue away
        self._round = 0
        self._right = False

    def seats(self) -> tuple[int, ...]:
        return (0,)

    def symbol(self) -> int:
        if self._round == 0:
            return self._cue
        return self._options.actions + (self._round == self._options.rounds - 1)

    def legal(self) -> list[bool]:
        answers = self._round >= self._options.rounds - 1
        return [action != self._forbidden if answers else action == 0 for action in range(self._options.actions)]

    def play(self, actions: Mapping[int, int]) -> list[float]:
        self._round += 1
        self._right = self._round == self._options.rounds and actions[0] == self._cue
        return [float(self._right)]

    def score(self) -> tuple[float, ...] | None:
        return (float(self._right),) if self._round == self._options.rounds else None
