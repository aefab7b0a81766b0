"""Agents as seats, on small environments written for the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium.spaces as spaces
import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.conversions import parallel_to_aec

from ludus.games.environments.faults import EnvironmentFault
from ludus.games.pettingzoo.match import ParallelMatch, TurnMatch
from ludus.games.pettingzoo.seating import Seating
from ludus.sdk.match import Turn

LIVES = {"a": 2, "b": 4, "c": 4}  # rounds until an agent dies
LIMIT = 3


class Fading(pettingzoo.ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """Agents earn what they choose and die one by one, or are stopped at a limit."""

    def __init__(self, limit: int = 100, mask: Any = None) -> None:
        self.metadata = {"name": "fading", "is_parallelizable": True}
        self.possible_agents = list(LIVES)
        self.limit, self.mask = limit, mask
        self.render_mode = None
        self.rounds = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0, 100, (2 if agent == "a" else 3,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2 if agent == "a" else 4)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.rounds, self.agents = 0, list(self.possible_agents)
        return self._shown(), self._infos()

    def step(self, actions: Mapping[str, int]) -> Any:
        assert set(actions) == set(self.agents), "only those who live choose, and all of them"
        self.rounds += 1
        lived = self.agents
        rewards = {agent: float(actions[agent]) for agent in lived}
        terminations = {agent: self.rounds >= LIVES[agent] for agent in lived}
        truncations = dict.fromkeys(lived, self.rounds >= self.limit)
        shown, infos = self._shown(), self._infos()
        self.agents = [agent for agent in lived if not (terminations[agent] or truncations[agent])]
        return shown, rewards, terminations, truncations, infos

    def _shown(self) -> dict[str, Any]:
        return {
            agent: np.full(self.observation_space(agent).shape or (), self.rounds, np.float32) for agent in self.agents
        }

    def _infos(self) -> dict[str, Any]:
        return {agent: {} if self.mask is None else {"action_mask": self.mask} for agent in self.agents}


def match_of(kind: str, **kwargs: Any) -> ParallelMatch | TurnMatch:
    def make() -> Any:
        return Fading(**kwargs) if kind == "parallel" else parallel_to_aec(Fading(**kwargs))

    seating = Seating.of(make(), "fading")
    return (ParallelMatch if kind == "parallel" else TurnMatch)(make, seating, 0)


def played(match: ParallelMatch | TurnMatch) -> tuple[list[tuple[int, ...]], np.ndarray[Any, Any], Turn]:
    """Who was asked, what each seat earned, and how it ended, when everybody chooses 1."""
    turn = match.start(1)
    asked, earned = [], turn.reward.copy()
    while not turn.over:
        asked.append(turn.seats)
        turn = match.advance(dict.fromkeys(turn.seats, 1))
        earned += turn.reward
    return asked, earned, turn


def test_all_who_live_choose_at_once_and_the_dead_are_not_asked_again() -> None:
    asked, earned, end = played(match_of("parallel"))
    assert asked == [(0, 1, 2), (0, 1, 2), (1, 2), (1, 2)]
    assert earned.tolist() == [2.0, 4.0, 4.0]
    assert not end.truncated
    assert end.score == (0.0, 0.75, 0.75)


def test_in_turns_one_is_asked_at_a_time_and_everybody_earns_the_same() -> None:
    asked, earned, end = played(match_of("aec"))
    assert asked == [(0,), (1,), (2,), (0,), (1,), (2,), (1,), (2,), (1,), (2,)]
    assert earned.tolist() == [2.0, 4.0, 4.0]
    assert not end.truncated


@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_a_limit_truncates_and_shows_where_those_who_lived_stopped(kind: str) -> None:
    match = match_of(kind, limit=LIMIT)
    _, earned, end = played(match)
    assert end.truncated
    assert earned.tolist() == [2.0, 3.0, 3.0]
    shown = match._seating.spec.obs.view(end.obs)["obs"]
    assert shown[1].tolist() == shown[2].tolist() == [3.0, 3.0, 3.0]
    assert end.out == (0,)  # it had died before, so its last state is worth nothing more


def test_seats_with_fewer_actions_and_smaller_observations_are_padded() -> None:
    match = match_of("parallel")
    turn = match.start(1)
    assert turn.legal.tolist() == [[True, True, False, False], [True] * 4, [True] * 4]
    turn = match.advance({0: 0, 1: 0, 2: 0})
    leaves = match._seating.spec.obs.view(turn.obs)
    assert leaves["obs"].tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    assert leaves["seat"].tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_a_mask_that_cannot_be_is_a_fault_and_the_next_match_has_another_environment(kind: str) -> None:
    match = match_of(kind, mask=[0, 0])
    with pytest.raises(EnvironmentFault, match="allows nothing"):
        match.start(1)
    assert match._environment is None


@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_the_limit_of_the_options_truncates_everybody_who_lives(kind: str) -> None:
    match = match_of(kind)
    match._max_steps = 4
    asked, earned, end = played(match)
    assert len(asked) == 4
    assert end.truncated == (kind == "aec")  # in rounds all have died by then
    assert earned.sum() == (4 if kind == "aec" else 10)
