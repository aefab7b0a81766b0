"""Leaves that say measures in fewer bytes than floats."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import ProtocolError
from ludus.spec import ObsSpec

SPEC = ObsSpec.pack(
    {"id": ("uint8", ()), "share": ("fixed8", (3,)), "stat": ("fixed16", (2, 2)), "x": ("float32", (1,))}
)


def test_they_take_a_byte_or_two_and_are_aligned_to_them() -> None:
    assert [(leaf.name, leaf.offset, leaf.nbytes) for leaf in SPEC.leaves] == [
        ("id", 0, 1),
        ("share", 1, 3),
        ("stat", 4, 8),
        ("x", 12, 4),
    ]
    assert SPEC.nbytes == 16
    assert [leaf.is_real for leaf in SPEC.leaves] == [False, True, True, True]


def test_what_is_written_is_read_to_the_nearest_that_they_can_say() -> None:
    rows = np.zeros((2, SPEC.nbytes), np.uint8)
    SPEC.write(rows, "share", [0.5, -2, 0.999])
    stats = np.array([[1 / 3, 7.9998], [-8, 0]])
    SPEC.write(rows[1], "stat", stats)
    SPEC.write(rows, "id", 200)
    SPEC.write(rows, "x", 1e9)
    assert SPEC.leaf(rows, "share").tolist() == [[32, -128, 64]] * 2
    assert SPEC.reals(rows, "share").tolist() == [[0.5, -2, 1]] * 2
    np.testing.assert_allclose(SPEC.reals(rows, "stat")[1], stats, atol=0.5 / 4096)
    assert not SPEC.reals(rows, "stat")[0].any()
    assert SPEC.reals(rows, "stat").dtype == np.float32
    assert SPEC.reals(rows, "id").tolist() == [200, 200]
    assert SPEC.reals(rows, "x").tolist() == [[1e9], [1e9]]


@pytest.mark.parametrize("value", [2, -2.1, float("nan"), float("inf")])
def test_what_they_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"'share' of fixed8 can hold -2 to 1.984"):
        SPEC.write(np.zeros(SPEC.nbytes, np.uint8), "share", [0, value, 0])


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(ProtocolError, match="fixed32"):
        ObsSpec.pack({"x": ("fixed32", (1,))})


def test_a_scalar_leaf_of_one_row_can_be_written() -> None:
    row = np.zeros(SPEC.nbytes, np.uint8)
    SPEC.write(row, "id", 200)
    assert SPEC.leaf(row, "id") == 200
