"""`expert`: searches one turn of both sides in worlds drawn from the beliefs, with an evaluation written by hand."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from ludus.games.showdown.scripted.heuristic import Heuristic
from ludus.games.showdown.search.pool import Search, SearchPool, SearchQuestion
from ludus.games.showdown.search.tally import Tally
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

WORLDS = 6
LIMIT_MS = 2000.0  # for one decision; six worlds take about a tenth of it on an idle core


class Expert:
    """Two plies: each own action against each of the foe's, evaluated by who has more left and who wins the duel.

    Decisions with one legal action, team preview, and those for which no world could be drawn are `heuristic`'s. A
    decision takes `limit_ms` at most; `cut` counts those that ended without a whole world.
    """

    def __init__(self, spec: GameSpec, seed: int, *, worlds: int = WORLDS, limit_ms: float = LIMIT_MS) -> None:
        self._fallback = Heuristic(spec, seed)
        self._spec = spec
        self._pool: SearchPool | None = None
        self._seed, self._worlds, self._limit_ms = seed, worlds, limit_ms
        self.decisions = 0  # that were searched
        self.cut = 0

    def act(self, arrivals: Arrivals) -> Choices:
        choices = self._fallback.act(arrivals)
        action = choices.action.copy()
        places = np.flatnonzero(arrivals.legal.sum(1) > 1)
        if len(places):
            self._pool = self._pool or SearchPool(self._spec)
            searches: list[Callable[[float], Search]] = [
                partial(self._search, arrivals.obs[place], np.flatnonzero(arrivals.legal[place]), int(action[place]))
                for place in places.tolist()
            ]
            action[places] = self._pool.run(searches, self._limit_ms / 1000, action[places].tolist())
        return Choices.scripted(action)

    def close(self) -> None:
        """End the search processes."""
        if self._pool is not None:
            self._pool.close()

    def _search(self, obs: np.ndarray, legal: np.ndarray, fallback: int, until_s: float) -> Search:
        data = obs.tobytes()
        seed = zlib.crc32(data, self._seed & 0xFFFFFFFF)
        budget_ms = 0.9 * self._limit_ms
        question = {"kind": "weigh", "seed": seed, "worlds": self._worlds, "legal": legal.tolist()}
        answer = yield SearchQuestion({**question, "budget_ms": budget_ms}, data)
        self.decisions += 1
        tally = Tally(answer[0].own if answer is not None else [])
        if answer is not None:
            tally.add((world, i, j, payoff) for world, i, j, _, payoff, _ in answer[0].cells)
        if not tally.payoffs:
            self.cut += 1
            return fallback
        return tally.best()
