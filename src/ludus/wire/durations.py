"""Histograms of how long an activity took, each time it ran (a pass). They can be added up over time and processes.

Percentiles come from a histogram with four buckets per octave, so they are exact to about 12%. A duration of `ns` whole
nanoseconds with `b` bits falls into bucket `4 * (b - 2) + (ns >> (b - 3)) % 4`, or `ns` below 4 ns. Hosts in other
languages use the same buckets (docs/host-protocol.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ludus import limits
from ludus.errors import HostFault, ProtocolError

BUCKETS = 160  # the last one holds everything from 16 minutes up


class Durations(msgspec.Struct):
    """Number and total time of the passes of an activity, and their histogram.

    Numbers are floats, so that `fade` can scale them. `buckets` maps the index of each non-empty bucket to its count.
    """

    total_ns: float = 0.0  # includes the time of a pass that has not ended, which `passes` does not count yet
    passes: float = 0.0
    buckets: dict[int, float] = {}

    @classmethod
    def of(cls, spent_ns: Sequence[int]) -> Durations:
        """Return the histogram of these durations."""
        if not spent_ns:
            return cls()
        counts = np.bincount(buckets(spent_ns))
        filled = np.flatnonzero(counts)
        by_bucket = zip(filled.tolist(), counts[filled].astype(np.float64).tolist(), strict=True)
        return cls(float(sum(spent_ns)), float(len(spent_ns)), dict(by_bucket))

    def add(self, other: Durations) -> None:
        """Add the passes of another histogram to this one."""
        self.total_ns += other.total_ns
        self.passes += other.passes
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0.0) + count

    def fade(self, factor: float) -> None:
        """Multiply all numbers by `factor`, so that passes from now on weigh more than earlier ones."""
        self.total_ns *= factor
        self.passes *= factor
        self.buckets = {bucket: count * factor for bucket, count in self.buckets.items()}

    @property
    def plausible(self) -> bool:
        """False if a number is negative or not finite, or a bucket does not exist. Check what was read from a file."""
        numbers = (self.total_ns, self.passes, *self.buckets.values())
        return all(0 <= number < math.inf for number in numbers) and all(0 <= each < BUCKETS for each in self.buckets)

    def check(self, activity: str) -> None:
        """Raise ProtocolError if a number is negative, not finite or too large, or a bucket does not exist."""
        if not all(0 <= bucket < BUCKETS for bucket in self.buckets):
            raise ProtocolError(f"TIMES: {activity} has a bucket out of 0 to {BUCKETS - 1}", HostFault.BAD_TIMES)
        numbers = (self.total_ns, self.passes, *self.buckets.values())
        if not all(0 <= number <= limits.TIMES_NS for number in numbers):
            words = f"a number that is negative or not finite, or above {limits.TIMES_NS:g}"
            raise ProtocolError(f"TIMES: {activity} has {words}", HostFault.BAD_TIMES)

    @property
    def mean_ns(self) -> float:
        """The mean duration of a pass; NaN before the first pass has ended."""
        return self.total_ns / self.passes if self.passes > 0 else math.nan

    def quantile_ns(self, share: float) -> float:
        """Return a quantile of the durations, such as the median for `share` 0.5; NaN before the first pass."""
        rank = share * sum(self.buckets.values())
        for bucket in sorted(self.buckets):
            count = self.buckets[bucket]
            if 0 < count >= rank:
                low, high = edges(bucket)
                return low + (high - low) * rank / count
            rank -= count
        return math.nan


def buckets(spent_ns: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the bucket of each duration."""
    ns = np.maximum(np.asarray(spent_ns, np.float64), 0.0)
    part, bits = np.frexp(ns)
    bucket = np.where(ns < 4, ns, 4 * (bits - 2) + np.floor(part * 8) - 4)
    return np.minimum(bucket, BUCKETS - 1).astype(np.int64)


def edges(bucket: int) -> tuple[int, int]:
    """Return the bounds of a bucket in ns: the lower one inclusive, the upper one exclusive."""
    octave, part = divmod(bucket, 4)
    if octave == 0:
        return bucket, bucket + 1
    return (4 + part) << (octave - 1), (5 + part) << (octave - 1)
