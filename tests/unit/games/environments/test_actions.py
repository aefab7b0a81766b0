from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium.spaces as spaces
import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.games.environments.actions import MAX_ACTIONS, FlatActions
from ludus.games.environments.faults import EnvironmentFault


def test_a_discrete_action_is_counted_from_its_start() -> None:
    actions = FlatActions(spaces.Discrete(3, start=-1), "test")
    assert [actions[action] for action in range(actions.count)] == [-1, 0, 1]


def test_several_choices_become_all_their_combinations_each_in_the_space() -> None:
    space = spaces.MultiDiscrete([2, 3, 2])
    actions = FlatActions(space, "test")
    found = [tuple(actions[action].tolist()) for action in range(actions.count)]
    assert found == list(product(range(2), range(3), range(2)))
    assert all(actions[action] in space for action in range(actions.count))
    binary = spaces.MultiBinary((2, 2))
    assert all(FlatActions(binary, "test")[action] in binary for action in range(16))


def test_a_mask_of_each_choice_allows_the_combinations_of_what_it_allows() -> None:
    actions = FlatActions(spaces.MultiDiscrete([2, 3]), "test")
    each = ([1, 0], [0, 1, 1])
    allowed = [first and second for first, second in product(*each)]
    for mask in (tuple(np.array(one) for one in each), np.array([1, 0, 0, 1, 1]), np.array(allowed)):
        assert actions.legal(mask).tolist() == [bool(one) for one in allowed]
    assert actions.legal(None).all()


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([0, 0, 0], "allows nothing"),
        ([1, 1], "has 2 entries, expected 3"),
        ([1, 1, 1, 1], "has 4 entries, expected 3"),
        ([1, 2, 0], "values other than 0 and 1"),
        ([1, float("nan"), 0], "values other than 0 and 1"),
        (["a", "b", "c"], "values other than 0 and 1"),
    ],
)
def test_a_mask_that_cannot_be_is_a_fault(mask: Any, message: str) -> None:
    with pytest.raises(EnvironmentFault, match=message):
        FlatActions(spaces.Discrete(3), "test").legal(mask)


def test_continuous_and_too_many_actions_are_refused_with_what_would_do() -> None:
    with pytest.raises(ConfigError, match=r"my env: its actions are Box.*DiscretizeAction"):
        FlatActions(spaces.Box(-1, 1, (2,)), "my env")
    with pytest.raises(ConfigError, match=rf"have 1,000,000 combinations; at most {MAX_ACTIONS:,}"):
        FlatActions(spaces.MultiDiscrete([100, 100, 100]), "my env")
