"""Exact NashConv of a policy: OpenSpiel walks the whole game tree and computes the best responses.

Only for small games: Kuhn poker has 12 information states, Leduc poker 936.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.openspiel.loading import load, pyspiel
from ludus.games.openspiel.matches import observe, spec_of
from ludus.games.openspiel.options import SpielOptions
from ludus.spec import GameSpec

Probabilities = Callable[[NDArray[np.uint8], NDArray[np.bool_]], NDArray[np.floating[Any]]]
"""(obs [n, nbytes], legal [n, A]) -> the probability of every action [n, A]"""

LARGEST = 1_000_000  # most histories of a game tree


class InformationStates:
    """All information states of a game, in the order in which the tree is walked."""

    def __init__(self, options: SpielOptions) -> None:
        self._game = load(options)
        self.spec: GameSpec = spec_of(self._game, options)
        states = self._walk()
        self.names = tuple(states)
        self.obs: NDArray[np.uint8] = np.stack([obs for obs, _ in states.values()])  # [n, nbytes]
        self.legal: NDArray[np.bool_] = np.stack([legal for _, legal in states.values()])  # [n, A]

    def nash_conv(self, probabilities: Probabilities) -> float:
        """Return NashConv: the sum over players of the gain from switching to a best response. It is 0 in an
        equilibrium and twice the exploitability in a two-player zero-sum game."""
        value: float = pyspiel().nash_conv(self._game, self.tabulate(probabilities))
        return value

    def tabulate(self, probabilities: Probabilities) -> dict[str, list[tuple[int, float]]]:
        """Return the policy in OpenSpiel's form: information state -> (action, probability) of each legal action."""
        table = np.where(self.legal, np.asarray(probabilities(self.obs, self.legal), np.float64), 0.0)
        table /= table.sum(1, keepdims=True)  # rounded float32 probabilities
        return {
            name: [(action, float(row[action])) for action in np.flatnonzero(legal).tolist()]
            for name, row, legal in zip(self.names, table, self.legal, strict=True)
        }

    def _walk(self) -> dict[str, tuple[NDArray[np.uint8], NDArray[np.bool_]]]:
        states: dict[str, tuple[NDArray[np.uint8], NDArray[np.bool_]]] = {}
        waiting, walked = [self._game.new_initial_state()], 0
        while waiting:
            state = waiting.pop()
            walked += 1
            if walked > LARGEST:
                raise ConfigError(
                    f"options.game: {self._game} has more than {LARGEST:,} histories, too many to find best answers in"
                )
            if state.is_terminal():
                continue
            if not state.is_chance_node():
                seat = state.current_player()
                name = state.information_state_string(seat)
                if name not in states:
                    legal = np.zeros(self.spec.actions, np.bool_)
                    legal[state.legal_actions()] = True
                    states[name] = observe(state, seat, self.spec), legal
            waiting += [state.child(action) for action in reversed(state.legal_actions())]
        return states
