"""`ThinkingPolicy`: a net that searches one turn of both sides before it decides.

It sees what the net sees: the row of its observation. Worlds with complete teams are drawn from that row; in each, the
best actions of both sides by the net are played against each other in the simulator, and the net's values of the
positions they lead to are the payoffs of a matrix game.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ludus.games.showdown.search.pool import LeafEvaluation, Search, SearchPool, SearchQuestion
from ludus.games.showdown.search.process import SearchAnswer
from ludus.games.showdown.search.tally import Floats, Tally
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

WIDTH = 5  # actions of each side
LEAST_PROBABILITY = 0.01  # actions below it are not looked at, but for the best two
TRUST = 0.05  # payoff of a factor e in the net's probability
FIRST_WORLDS, MOST_WORLDS = 1, 8  # in a round
RESERVE = 0.1  # of the limit, for the answer to come through
SHARE_DRAWING = 0.6  # of what is left, at most, for drawing worlds

Returned = TypeVar("Returned")
Asking = Generator[LeafEvaluation, Any, Returned]  # Any: what the net says, as in Search
Cell = tuple[int, int, int, float]  # world, own action, the foe's action, payoff


def thinking_policy(
    policy: NetPolicy,
    spec: GameSpec,
    options: Mapping[str, Any],  # Any: the game's own
    think_ms: float,
) -> ThinkingPolicy:
    """Return the policy with search. `options` are those that the net was trained with."""
    return ThinkingPolicy(
        policy,
        spec,
        think_ms,
        shaping=float(options.get("reward_shaping", 0.5)),
        win=float(options.get("reward_win", 1.0)),
        node=str(options.get("node", "wheel")),
        usage=options.get("usage"),
    )


class ThinkingPolicy:
    """Plays the most probable action of the mixture that search found, or the net's own if it found none in time.

    A decision takes up to `think_ms`; n decisions at once take that times n over the number of search processes (one
    for each core). With `worlds`, a search ends after so many, and is the same on every machine that is fast enough.
    """

    def __init__(
        self,
        policy: NetPolicy,
        spec: GameSpec,
        think_ms: float,
        *,
        shaping: float = 0.0,
        win: float = 1.0,
        worlds: int = 0,
        processes: int = 0,
        node: str = "wheel",
        usage: str | None = None,
    ) -> None:
        self.policy = policy
        self.searched = self.cut = self.worlds_seen = 0
        self.slowest_ms = 0.0
        self._limit_s = think_ms / 1000
        self._shaping, self._win, self._most_worlds = shaping, win, worlds
        self._pool = SearchPool(spec, policy.evaluate, node=node, usage=usage)
        if processes:
            self._pool.most = processes
        self._world_s = 0.05  # how long a world takes; updated by every round

    def act(self, arrivals: Arrivals) -> Choices:
        choices = self.policy.act(arrivals)
        places = np.flatnonzero(arrivals.legal.sum(1) > 1)
        if not len(places):
            return choices
        action = choices.action.copy()
        logp, _ = self.policy.evaluate(arrivals.obs[places], arrivals.legal[places])
        searches: list[Callable[[float], Search]] = [
            partial(self._search, arrivals.obs[place], arrivals.legal[place], logp[i], int(action[place]))
            for i, place in enumerate(places.tolist())
        ]
        action[places] = self._pool.run(searches, self._limit_s, action[places].tolist())
        return Choices(action, choices.logp, choices.value, choices.version, choices.hidden_state)

    def close(self) -> None:
        """End the search processes."""
        self._pool.close()

    def _search(
        self, obs: NDArray[np.uint8], legal: NDArray[np.bool_], logp: Floats, fallback: int, until_s: float
    ) -> Search:
        began_s = until_s - self._limit_s
        own = favourites(logp, np.flatnonzero(legal))
        tally = Tally(own.tolist(), TRUST * logp[own])
        data, seed = obs.tobytes(), zlib.crc32(obs.tobytes())
        self.searched += 1
        stop_s = until_s - RESERVE * self._limit_s
        while (count := self._due(len(tally.payoffs), stop_s)) > 0:
            round_s, seed = time.monotonic(), (seed * 69069 + 1) & 0xFFFFFFFF
            budget_ms = SHARE_DRAWING * 1000 * (stop_s - round_s)
            question = {"kind": "worlds", "seed": seed, "count": count, "legal": own.tolist(), "budget_ms": budget_ms}
            answer = yield SearchQuestion(question, data)
            if answer is None or not answer[0].legal:
                break
            foe, biases = yield from self._foe(answer, obs, len(legal))
            budget_ms = 1000 * (stop_s - time.monotonic()) - self._evaluation_ms(own, foe)
            question = {"kind": "expand", "own": own.tolist(), "foe": foe, "budget_ms": budget_ms}
            answer = yield SearchQuestion(question)
            if answer is None:
                break
            cells = yield from self._payoffs(answer, obs, len(legal))
            before = len(tally.payoffs)
            tally.add(cells, biases)
            if len(tally.payoffs) == before:
                break
            spent_s = (time.monotonic() - round_s) / (len(tally.payoffs) - before)
            self._world_s = 0.8 * self._world_s + 0.2 * spent_s
        self.worlds_seen += len(tally.payoffs)
        action = tally.best() if tally.payoffs else fallback
        self.cut += not tally.payoffs
        self.slowest_ms = max(self.slowest_ms, 1000 * (time.monotonic() - began_s))
        return action

    def _due(self, have: int, stop_s: float) -> int:
        """Return how many worlds the next round draws; 0 to end the search."""
        left_s = stop_s - time.monotonic()
        if left_s <= 0 or (self._most_worlds and have >= self._most_worlds):
            return 0
        if not have:
            return FIRST_WORLDS
        count = min(int(left_s / self._world_s), MOST_WORLDS)
        return min(count, self._most_worlds - have) if self._most_worlds else count

    def _evaluation_ms(self, own: NDArray[np.intp], foe: list[list[int]]) -> float:
        """Return about how long the net takes for the positions of a round."""
        return min(0.2 * 1000 * self._limit_s, 3 + 0.05 * len(own) * sum(max(1, len(each)) for each in foe))

    def _foe(
        self, answer: tuple[SearchAnswer, bytes], obs: NDArray[np.uint8], actions: int
    ) -> Asking[tuple[list[list[int]], list[Floats]]]:
        """Ask the net what the foe would do. Returns its actions and their biases, in each world."""
        legal_lists, rows = answer[0].legal, _rows(answer[1], obs)
        masks = np.zeros((len(legal_lists), actions), np.bool_)
        for world, legal in enumerate(legal_lists):
            masks[world, legal or [0]] = True
        logp, _ = yield LeafEvaluation(rows, masks)
        foe = [favourites(logp[world], np.array(legal, np.intp)) for world, legal in enumerate(legal_lists)]
        biases = [TRUST * logp[world, each] if len(each) else np.zeros(1) for world, each in enumerate(foe)]
        return [each.tolist() for each in foe], biases

    def _payoffs(self, answer: tuple[SearchAnswer, bytes], obs: NDArray[np.uint8], actions: int) -> Asking[list[Cell]]:
        """Ask the net for the values of the positions that the joint actions led to."""
        rows = _rows(answer[1], obs)
        values = np.zeros(0)
        if len(rows):
            _, values = yield LeafEvaluation(rows, np.ones((len(rows), actions), np.bool_))
        cells: list[Cell] = []
        row = 0
        for world, i, j, sign, outcome, potential in answer[0].cells:
            payoff = self._shaping * potential + (sign * values[row] if sign else self._win * outcome)
            row += sign != 0
            cells.append((world, i, j, float(payoff)))
        return cells


def favourites(logp: Floats, legal: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the legal actions that the net likes best, best first."""
    ranked: NDArray[np.intp] = legal[np.argsort(-logp[legal], kind="stable")][:WIDTH]
    likely = logp[ranked] >= np.log(LEAST_PROBABILITY)
    likely[:2] = True
    favoured: NDArray[np.intp] = ranked[likely]
    return favoured


def _rows(data: bytes, obs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows: NDArray[np.uint8] = np.frombuffer(data, np.uint8).reshape(-1, len(obs))
    return rows
