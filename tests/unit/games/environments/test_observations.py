from __future__ import annotations

from typing import Any

import gymnasium.spaces as spaces
import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.games.environments import observations
from ludus.games.environments.faults import EnvironmentFault
from ludus.games.environments.observations import RowWriter, pack, packed_together, parts_of


def leaves_of(space: spaces.Space[Any], observation: object) -> dict[str, np.ndarray[Any, Any]]:
    parts = parts_of(space, "test")
    spec = pack(parts)
    writer = RowWriter((parts,), spec)
    writer.write(0, observation)
    return {name: leaf[0] for name, leaf in spec.view(writer.rows).items()}


def test_a_box_is_one_leaf_of_its_own_type_where_rows_have_it() -> None:
    for dtype, kept in (("float32", "float32"), ("float64", "float32"), ("uint8", "uint8"), ("int64", "int32")):
        low, high = (0, 200) if dtype == "uint8" else (-100, 100)
        shown = np.array([[1, 2, 3], [4, 5, 6]], dtype)
        leaf = leaves_of(spaces.Box(low, high, (2, 3), np.dtype(dtype).type), shown)["obs"]
        assert leaf.dtype == kept
        assert np.array_equal(leaf, shown)


def test_choices_of_a_few_are_ones_among_zeros() -> None:
    assert leaves_of(spaces.Discrete(4, start=2), 3)["obs"].tolist() == [0, 1, 0, 0]
    several = leaves_of(spaces.MultiDiscrete([2, 3]), np.array([1, 2]))["obs"]
    assert several.tolist() == [0, 1, 0, 0, 1]


def test_choices_of_very_many_are_numbers() -> None:
    many = observations.ONE_HOT_MOST + 1
    assert leaves_of(spaces.Discrete(many), 70)["obs"].tolist() == [70]
    assert leaves_of(spaces.MultiDiscrete([many, 2]), np.array([70, 1]))["obs"].tolist() == [70, 1]


def test_dicts_and_tuples_give_a_leaf_for_each_thing_they_hold() -> None:
    space = spaces.Dict(
        {
            "bag": spaces.Tuple((spaces.Discrete(2), spaces.Box(-1, 1, (2,), np.float32))),
            "flags": spaces.MultiBinary(3),
        }
    )
    found = leaves_of(space, {"bag": (1, np.array([0.5, -0.5], np.float32)), "flags": [1, 0, 1]})
    assert set(found) == {"bag.0", "bag.1", "flags"}
    assert found["bag.0"].tolist() == [0, 1]
    assert found["bag.1"].tolist() == [0.5, -0.5]
    assert found["flags"].tolist() == [1, 0, 1]


def test_a_mask_is_no_leaf() -> None:
    space = spaces.Dict({"observation": spaces.Discrete(2), "action_mask": spaces.MultiBinary(4)})
    assert set(leaves_of(space, {"observation": 0, "action_mask": [1, 1, 1, 1]})) == {"observation"}
    assert observations.has_mask(space)


@pytest.mark.parametrize(
    ("space", "observation", "message"),
    [
        (spaces.Box(0, 1, (3,), np.float32), np.zeros(4, np.float32), r"'obs' has shape \[4\], its space says \[3\]"),
        (spaces.Box(0, 1, (3,), np.float32), None, "expected numbers|shape"),
        (spaces.Box(0, 9, (1,), np.uint8), np.array([300]), "uint8 cannot hold"),
        (spaces.Discrete(3), 3, "'obs' is 3, its space says 0 to 2"),
        (spaces.Discrete(3), 1.5, "'obs' is 1.5"),
        (spaces.MultiDiscrete([2, 2]), [1], "has 1 choices, its space says 2"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"b": 1}, "observation 'a' is missing"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2))), (1,), "observation '1' is missing"),
    ],
)
def test_what_is_not_of_its_space_is_a_fault_that_says_so(
    space: spaces.Space[Any], observation: object, message: str
) -> None:
    with pytest.raises(EnvironmentFault, match=message):
        leaves_of(space, observation)


def test_spaces_without_a_fixed_size_and_huge_ones_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"obs\w* is a Text, which has no fixed size; Box, Discrete"):
        parts_of(spaces.Text(8), "test")
    with pytest.raises(ConfigError, match=r"test: an observation has 40,000,008 bytes, most of them in 'big'"):
        parts_of(spaces.Dict({"big": spaces.Box(0, 1, (10_000_000,), np.float32), "a": spaces.Discrete(2)}), "test")


def test_seats_have_rows_of_their_own() -> None:
    parts = parts_of(spaces.Discrete(2), "test")
    writer = RowWriter((parts, parts), packed_together((parts, parts), "test"))
    writer.write(0, 0)
    writer.write(1, 1)
    assert pack(parts).view(writer.rows)["obs"].tolist() == [[1, 0], [0, 1]]


def test_where_seats_differ_rows_are_as_large_as_the_largest_and_say_which_seat_it_is() -> None:
    small, large = (parts_of(spaces.Box(0, 9, (size,), np.float32), "test") for size in (2, 3))
    spec = packed_together((small, large), "test")
    writer = RowWriter((small, large), spec)
    writer.write(0, np.array([1, 2], np.float32))
    writer.write(1, np.array([3, 4, 5], np.float32))
    found = spec.view(writer.rows)
    assert found["obs"].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert found["seat"].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(EnvironmentFault, match=r"has shape \[3\], its space says \[2\]"):
        writer.write(0, np.zeros(3, np.float32))
    with pytest.raises(ConfigError, match="make them alike"):
        packed_together((small, parts_of(spaces.Box(0, 9, (2,), np.uint8), "test")), "test")
