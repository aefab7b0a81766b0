"""Episodes as matches, on small environments written for the test."""

from __future__ import annotations

from typing import Any

import gymnasium
import gymnasium.spaces as spaces
import numpy as np
import pytest

from ludus.games.environments.actions import FlatActions
from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import pack, parts_of
from ludus.games.gymnasium.match import EnvKind, EpisodeGroup, EpisodeMatch
from ludus.spec import GameSpec


class Count(gymnasium.Env[Any, Any]):
    """Counts steps; terminated at `end`, truncated at `limit`; what else it does is up to the test."""

    observation_space: Any = spaces.Box(0, 100, (1,), np.float32)
    action_space: Any = spaces.Discrete(3)

    def __init__(self, end: int = 3, limit: int = 100, answer: Any = None, mask: Any = None) -> None:
        self.end, self.limit, self.answer, self.mask = end, limit, answer, mask
        self.steps = 0
        self.closed = False
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        self.drawn = float(self.np_random.integers(100))
        return np.array([self.drawn], np.float32), self._info()

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.taken.append(action)
        if self.answer is not None:
            return self.answer
        terminated, truncated = self.steps >= self.end, self.steps >= self.limit
        return np.array([self.steps], np.float32), 0.5, terminated, truncated, self._info()

    def close(self) -> None:
        self.closed = True

    def _info(self) -> dict[str, Any]:
        return {} if self.mask is None else {"action_mask": self.mask}


def match_of(*environments: Count, max_steps: int = 0) -> EpisodeMatch:
    left = list(environments)
    parts = parts_of(left[0].observation_space, "test")
    actions = FlatActions(left[0].action_space, "test")
    spec = GameSpec("gymnasium/count", 1, actions.count, pack(parts), 1)
    return EpisodeMatch(EnvKind(lambda: left.pop(0), spec, parts, actions, max_steps))


def shown(rows: np.ndarray[Any, Any]) -> float:
    return float(rows.view(np.float32)[0, 0])


def test_an_episode_asks_its_seat_until_it_is_over_and_says_what_it_returned() -> None:
    match = match_of(Count(end=3))
    turn = match.start(7)
    assert (turn.seats, turn.over, turn.reward.tolist()) == ((0,), False, [0.0])
    turn = match.advance({0: 1})
    assert (shown(turn.obs), turn.reward.tolist()) == (1.0, [0.5])
    match.advance({0: 1})
    turn = match.advance({0: 1})
    assert turn.over
    assert not turn.truncated
    assert turn.facts == {"turns": 3.0, "return": 1.5}


def test_a_limit_of_the_environment_or_of_the_options_truncates_and_shows_the_last_state() -> None:
    for match in (match_of(Count(limit=2, end=50)), match_of(Count(end=50), max_steps=2)):
        match.start(7)
        match.advance({0: 0})
        turn = match.advance({0: 0})
        assert turn.over
        assert turn.truncated
        assert shown(turn.obs) == 2.0


def test_an_episode_that_ends_just_when_its_time_is_up_has_ended() -> None:
    match = match_of(Count(end=2, limit=2))
    match.start(7)
    match.advance({0: 0})
    assert not match.advance({0: 0}).truncated


def test_the_same_seed_gives_the_same_episode_and_another_one_another() -> None:
    first, other = [shown(match_of(Count()).start(5 << 22).obs) for _ in range(2)]
    assert first == other
    assert len({shown(match_of(Count()).start(seed << 22).obs) for seed in range(20)}) > 5


def test_a_mask_in_the_info_counts_and_without_one_all_is_legal() -> None:
    assert match_of(Count(mask=np.array([0, 1, 0], np.int8))).start(1).legal.tolist() == [[False, True, False]]
    assert match_of(Count()).start(1).legal.all()


def test_a_mask_in_the_observation_and_one_by_a_method_count() -> None:
    class Masked(Count):
        observation_space = spaces.Dict({"observation": Count.observation_space, "action_mask": spaces.MultiBinary(3)})

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            observation, info = super().reset(seed=seed)
            return {"observation": observation, "action_mask": [0, 0, 1]}, info

    class Method(Count):
        def action_masks(self) -> list[bool]:
            return [True, False, False]

    assert match_of(Masked()).start(1).legal.tolist() == [[False, False, True]]
    assert match_of(Method()).start(1).legal.tolist() == [[True, False, False]]


def test_success_is_the_score_where_the_environment_knows_it() -> None:
    for info, score in (({"is_success": True}, 1.0), ({"is_success": False}, 0.0), ({}, 0.5)):
        match = match_of(Count(answer=(np.zeros(1, np.float32), 0.0, True, False, info)))
        match.start(1)
        assert match.advance({0: 0}).score == (score,)


ZERO = np.zeros(1, np.float32)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((ZERO, 0.0, False, {}), "step returned 4 values, expected"),
        ((ZERO, None, False, False, {}), "the reward is NoneType None, expected a number"),
        ((np.zeros(2, np.float32), 0.0, False, False, {}), r"has shape \[2\], its space says \[1\]"),
        ((ZERO, 0.0, False, False, {"action_mask": [0, 0, 0]}), "the action mask allows nothing"),
        ((ZERO, 0.0, False, False, {"action_mask": [1]}), "the action mask has 1 entries, expected 3"),
    ],
)
def test_a_fault_loses_the_match_and_the_next_one_has_another_environment(answer: Any, message: str) -> None:
    broken, whole = Count(answer=answer), Count()
    match = match_of(broken, whole)
    match.start(1)
    with pytest.raises(EnvironmentFault, match=message):
        match.advance({0: 0})
    assert broken.closed
    match.start(2)
    assert match.advance({0: 2}).seats == (0,)
    assert whole.taken == [2]


def test_a_group_steps_those_who_chose_and_tells_who_ended_and_who_was_lost() -> None:
    made = [Count(end=50), Count(end=2), Count(answer=(ZERO, 0.0, False, {})), Count(end=50)]
    parts, actions = parts_of(Count.observation_space, "test"), FlatActions(Count.action_space, "test")
    spec = GameSpec("gymnasium/count", 1, actions.count, pack(parts), 1)
    group = EpisodeGroup(EnvKind(lambda: made.pop(0), spec, parts, actions, 0), 4)
    turn = group.start([0, 1, 2, 3], [1, 2, 3, 4])
    assert not turn.over
    assert not turn.lost
    turn = group.advance([1, 2, 3], np.zeros((3, 1), np.int32))
    assert list(turn.lost) == [1]
    assert turn.reward.tolist() == [[0.5], [0.0], [0.5]]
    turn = group.advance([3, 1], np.zeros((2, 1), np.int32))
    assert list(turn.over) == [1]
    assert turn.obs.view(np.float32)[0, 0, 0] == 2.0
