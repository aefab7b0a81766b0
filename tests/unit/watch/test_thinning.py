"""Buckets of a growing table, against a slow twin that keeps every row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.watch.thinning import Buckets


def slow_twin(rows: NDArray[np.float64], size: int) -> list[tuple[float, float, float]]:
    """Mean, minimum and maximum of each run of `size` rows of one column, without missing values."""
    found = []
    for at in range(0, len(rows), size):
        values = [value for value in rows[at : at + size] if not np.isnan(value)]
        found.append((float(np.mean(values)), min(values), max(values)) if values else (np.nan,) * 3)
    return found


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 40, 333, 1000])
@pytest.mark.parametrize("part", [1, 7, 1000])
def test_buckets_hold_what_a_slow_twin_computes(count: int, part: int) -> None:
    random = np.random.default_rng(count + part)
    table = random.normal(size=(count, 3))
    table[random.random(table.shape) < 0.2] = np.nan
    buckets = Buckets(3, buckets=10)
    for at in range(0, count, part):
        buckets.add(table[at : at + part])
    thinned = buckets.thinned([2, 0])
    assert buckets.rows == count
    assert len(thinned.mean) <= 20
    for place, column in enumerate((2, 0)):
        twin = np.array(slow_twin(table[:, column], buckets.rows_per_bucket)).reshape(-1, 3)
        for values, expected in zip((thinned.mean, thinned.low, thinned.high), twin.T, strict=True):
            np.testing.assert_allclose(values[:, place], expected, rtol=1e-6)  # float32


def test_a_long_table_keeps_enough_buckets_to_draw_a_line() -> None:
    buckets = Buckets(1, buckets=10)
    buckets.add(np.arange(10_000.0)[:, None])
    assert 10 <= len(buckets.thinned([0]).mean) <= 20


def test_a_spike_of_one_row_stays_visible() -> None:
    rows = np.zeros((5000, 1))
    rows[3210] = 99.0
    buckets = Buckets(1, buckets=10)
    buckets.add(rows)
    assert buckets.thinned([0]).high.max() == 99.0
