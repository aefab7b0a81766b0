"""One match of an OpenSpiel game. Chance nodes are drawn with the match's seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.games.openspiel.loading import SEATS
from ludus.games.openspiel.options import SpielOptions
from ludus.sdk.match import Turn
from ludus.spec import GameSpec, ObsSpec

SCHEMA = 1
LEAF = "state"


def spec_of(game: Any, options: SpielOptions) -> GameSpec:  # Any: OpenSpiel has no types
    shape = getattr(game, f"{options.tensor}_tensor_shape")()
    obs = ObsSpec.pack({LEAF: ("float32", (prod(shape),))})
    layout = {"game": str(game), "tensor": options.tensor}
    return GameSpec(f"openspiel/{game.get_type().short_name}", SEATS, game.num_distinct_actions(), obs, SCHEMA, layout)


def observe(state: Any, seat: int, spec: GameSpec) -> NDArray[np.uint8]:  # Any: OpenSpiel has no types
    """Return the observation of a seat as one packed row."""
    remembers = spec.layout["tensor"] == "information_state"
    tensor = state.information_state_tensor if remembers else state.observation_tensor
    values = np.array(tensor(seat), np.float32).view(np.uint8)
    row = np.zeros(spec.obs.nbytes, np.uint8)  # the only leaf stands at its beginning
    row[: len(values)] = values
    return row


class SpielMatch:
    def __init__(self, game: Any, spec: GameSpec) -> None:  # Any: OpenSpiel has no types
        self._game = game
        self._spec = spec
        self._random = random.Random()
        self._log: list[str] = []

    def start(self, seed: int) -> Turn:
        self._random.seed(seed)
        self._log = [f"seed {seed}"]
        self._state = self._game.new_initial_state()
        self._returns = np.zeros(SEATS, np.float32)
        return self._turn()

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._apply(actions[self._state.current_player()])
        return self._turn()

    def _turn(self) -> Turn:
        state, spec = self._state, self._spec
        while state.is_chance_node():
            self._apply(draw(state.chance_outcomes(), self._random.random()))
        returns = np.array(state.returns(), np.float32)
        reward, self._returns = returns - self._returns, returns
        if state.is_terminal():
            facts = {"moves": float(state.move_number())}
            nothing = np.zeros((0, spec.obs.nbytes), np.uint8), np.zeros((0, spec.actions), np.bool_)
            return Turn((), *nothing, reward, score(returns), False, facts, "\n".join(self._log))
        seat = state.current_player()
        legal = np.zeros((1, spec.actions), np.bool_)
        legal[0, state.legal_actions()] = True
        return Turn((seat,), observe(state, seat, spec)[None], legal, reward)

    def _apply(self, action: int) -> None:
        player = self._state.current_player()
        who = "chance" if player < 0 else str(player)
        self._log.append(f"{who}: {self._state.action_to_string(player, action)}")
        self._state.apply_action(action)


def draw(outcomes: list[tuple[int, float]], uniform: float) -> int:
    """Return the outcome that a uniform number from [0, 1) selects."""
    reached = 0.0
    for outcome, probability in outcomes:
        reached += probability
        if uniform < reached:
            return outcome
    return outcomes[-1][0]  # rounding: the probabilities sum to a little less than 1


def score(returns: NDArray[np.float32]) -> tuple[float, ...]:
    """Return the scores: 1 for the higher return, 0 for the lower, 0.5 for a tie."""
    lead = float(returns[0] - returns[1])
    won = 0.5 if lead == 0 else float(lead > 0)
    return (won, 1.0 - won)
