"""Thins a growing table of numbers to a bounded number of buckets, each with mean, minimum and maximum. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BUCKETS = 200  # fewest buckets of a long table; there are at most twice as many

Table = NDArray[np.float64]
"""Rows by columns. NaN: no value."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """One row per bucket, in the order of the table. `low`, `mean` and `high` are NaN where a bucket has no value."""

    mean: Table
    low: Table
    high: Table


class Buckets:
    """Buckets of a table to which rows are appended. Each bucket covers `rows_per_bucket` consecutive rows.

    When there are too many buckets, each two neighbours become one, and `rows_per_bucket` doubles. Memory therefore
    does not grow with the number of rows.
    """

    def __init__(self, columns: int, buckets: int = BUCKETS) -> None:
        self.rows = 0
        self.rows_per_bucket = 1
        self._most = 2 * buckets
        self._low = np.full((self._most, columns), np.inf, np.float32)
        self._high = np.full((self._most, columns), -np.inf, np.float32)
        self._sum = np.zeros((self._most, columns))
        self._count = np.zeros((self._most, columns), np.int32)

    def add(self, rows: Table) -> None:
        """Append rows. Values must be finite or NaN."""
        while len(rows):
            room = self._most * self.rows_per_bucket - self.rows
            if room == 0:
                self._halve()
                continue
            part, rows = rows[:room], rows[room:]
            bucket = (self.rows + np.arange(len(part))) // self.rows_per_bucket
            first = np.flatnonzero(np.diff(bucket, prepend=-1))
            at = bucket[first]
            there = ~np.isnan(part)
            with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite
                self._low[at] = np.fmin(self._low[at], np.fmin.reduceat(part, first))
                self._high[at] = np.fmax(self._high[at], np.fmax.reduceat(part, first))
            self._sum[at] += np.add.reduceat(np.where(there, part, 0.0), first)
            self._count[at] += np.add.reduceat(there, first, dtype=np.int32)
            self.rows += len(part)

    def thinned(self, columns: list[int]) -> Thinned:
        """Return these columns."""
        used = -(-self.rows // self.rows_per_bucket)
        count = self._count[:used, columns]
        empty = count == 0
        mean = np.where(empty, np.nan, self._sum[:used, columns] / np.maximum(count, 1))
        low = np.where(empty, np.nan, self._low[:used, columns].astype(np.float64))
        return Thinned(mean, low, np.where(empty, np.nan, self._high[:used, columns].astype(np.float64)))

    def _halve(self) -> None:
        half = self._most // 2
        self._low[:half] = np.fmin(self._low[0::2], self._low[1::2])
        self._high[:half] = np.fmax(self._high[0::2], self._high[1::2])
        self._sum[:half] = self._sum[0::2] + self._sum[1::2]
        self._count[:half] = self._count[0::2] + self._count[1::2]
        self._low[half:], self._high[half:], self._sum[half:], self._count[half:] = np.inf, -np.inf, 0.0, 0
        self.rows_per_bucket *= 2
