"""Mixtures of policies in a small OpenSpiel game: what two policies win against each other, and how exploitable a
mixture of several is. All values are exact.

A mixture draws one of its policies before each match and plays it to the end. By Kuhn's theorem, a single policy has
the same probability of every course of the match: in an information state it chooses like each member, in proportion
to how likely that member would have come there by its own actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.games.openspiel.equilibrium import InformationStates
from ludus.games.openspiel.loading import load
from ludus.games.openspiel.options import SpielOptions

SEATS = 2
Reals = NDArray[np.float64]
Places = NDArray[np.int64]


class GameTree:
    """The information states of a two-player zero-sum game with perfect recall, and its final histories.

    A policy is an array [n, A] of probabilities in the order of `states.names`.
    """

    def __init__(self, options: SpielOptions) -> None:
        self.states = InformationStates(options)
        self._places = {name: place for place, name in enumerate(self.states.names)}
        self._actions = self.states.spec.actions
        self._before: dict[int, tuple[int, ...]] = {}  # own choices that lead to a state: n * A places of a flat policy
        finals: list[tuple[tuple[tuple[int, ...], ...], float]] = []  # choices of both seats, chance * return
        self._walk(load(options).new_initial_state(), ((), ()), 1.0, finals)
        self._final_choices = [self._padded([choices[seat] for choices, _ in finals]) for seat in range(SEATS)]
        self._final_value = np.array([value for _, value in finals])
        self._state_choices = self._padded([self._before[place] for place in range(len(self.states.names))])

    def policy(self, probabilities: Any) -> Reals:  # Any: `equilibrium.Probabilities`, which has NumPy's own Any
        """Return the policy of a function from observations and masks to probabilities."""
        legal = self.states.legal
        table = np.where(legal, np.asarray(probabilities(self.states.obs, legal), np.float64), 0.0)
        return np.asarray(table / table.sum(1, keepdims=True))

    def payoff(self, policies: Sequence[Reals]) -> Reals:
        """Return what each policy wins from each other one per match, as the mean over both seats."""
        reach = [
            np.stack([self._products(policy, self._final_choices[seat]) for policy in policies])
            for seat in range(SEATS)
        ]
        as_first = (reach[0] * self._final_value) @ reach[1].T
        return np.asarray((as_first - as_first.T) / 2)

    def mixture(self, policies: Sequence[Reals], weights: Reals) -> Reals:
        """Return the policy that is equivalent to drawing one of these policies before each match."""
        total = np.zeros_like(policies[0])
        for policy, weight in zip(policies, weights, strict=True):
            total += weight * self._products(policy, self._state_choices)[:, None] * policy
        mass = total.sum(1, keepdims=True)
        even = self.states.legal / self.states.legal.sum(1, keepdims=True)  # where no member ever comes
        return np.asarray(np.where(mass > 1e-12, total / np.maximum(mass, 1e-12), even))

    def nash_conv(self, policy: Reals) -> float:
        """Return the sum over both seats of what a best response gains."""
        return self.states.nash_conv(lambda obs, legal: policy)

    def _walk(
        self,
        state: Any,  # Any: OpenSpiel has no types
        choices: tuple[tuple[int, ...], tuple[int, ...]],
        chance: float,
        finals: list[tuple[tuple[tuple[int, ...], ...], float]],
    ) -> None:
        if state.is_terminal():
            finals.append((choices, chance * float(state.returns()[0])))
            return
        if state.is_chance_node():
            for outcome, probability in state.chance_outcomes():
                self._walk(state.child(outcome), choices, chance * probability, finals)
            return
        seat = state.current_player()
        place = self._places[state.information_state_string(seat)]
        if self._before.setdefault(place, choices[seat]) != choices[seat]:
            raise ValueError(f"{self.states.spec.name} forgets a player's own actions: mixtures have no single policy")
        for action in state.legal_actions():
            own = (*choices[seat], place * self._actions + action)
            self._walk(state.child(action), (own, choices[1]) if seat == 0 else (choices[0], own), chance, finals)

    def _padded(self, lists: Sequence[tuple[int, ...]]) -> Places:
        """Return lists of places as one array. Missing entries stand for the probability 1, after the last place."""
        longest = max(map(len, lists), default=0)
        padding = len(self.states.names) * self._actions
        return np.array([[*each, *[padding] * (longest - len(each))] for each in lists], np.int64)

    @staticmethod
    def _products(policy: Reals, choices: Places) -> Reals:
        return np.asarray(np.append(policy.ravel(), 1.0)[choices].prod(1))
