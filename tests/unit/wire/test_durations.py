from __future__ import annotations

import math
import statistics

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.wire.durations import BUCKETS, Durations, buckets, edges

nanoseconds = st.integers(0, 2**40)


def plain_bucket(ns: int) -> int:
    """As the protocol's page has it."""
    bits = ns.bit_length()
    return min(BUCKETS - 1, ns if ns < 4 else 4 * (bits - 2) + (ns >> (bits - 3)) % 4)


@given(st.lists(nanoseconds, min_size=1, max_size=20))
def test_buckets_are_those_of_the_protocols_page_and_hold_what_is_in_them(spent: list[int]) -> None:
    found = buckets(spent).tolist()
    assert found == [plain_bucket(ns) for ns in spent]
    for ns, bucket in zip(spent, found, strict=True):
        low, high = edges(bucket)
        assert low <= ns
        assert ns < high or bucket == BUCKETS - 1


def test_buckets_follow_each_other_without_a_gap() -> None:
    assert [edges(bucket)[1] for bucket in range(BUCKETS - 1)] == [edges(bucket)[0] for bucket in range(1, BUCKETS)]


@given(st.lists(nanoseconds, min_size=1, max_size=200))
def test_parts_that_are_added_up_say_the_same_as_the_whole(spent: list[int]) -> None:
    parts = Durations()
    for at in range(0, len(spent), 7):
        parts.add(Durations.of(spent[at : at + 7]))
    assert parts == Durations.of(spent)


@given(st.lists(st.integers(1_000, 10**9), min_size=40, max_size=400))
def test_percentiles_are_those_of_the_durations_within_a_bucket(spent: list[int]) -> None:
    durations = Durations.of(spent)
    exact = statistics.quantiles(spent, n=20, method="inclusive")
    ordered = sorted(spent)
    for share, value in ((0.5, exact[9]), (0.95, exact[18])):
        at = math.ceil(share * len(spent)) - 1
        near = ordered[max(0, at - 1) : at + 3]
        assert min(near) / 1.26 <= durations.quantile_ns(share) <= max(near) * 1.26, value
    assert durations.mean_ns == pytest.approx(statistics.fmean(spent))


def test_nothing_has_no_percentile_and_fading_changes_none() -> None:
    assert math.isnan(Durations().quantile_ns(0.5))
    assert math.isnan(Durations().mean_ns)
    durations = Durations.of([1000, 2000, 4000])
    before = durations.quantile_ns(0.5), durations.mean_ns
    durations.fade(0.5)
    assert (durations.quantile_ns(0.5), durations.mean_ns) == pytest.approx(before)
    assert durations.passes == 1.5


def test_they_travel_as_json_with_their_buckets() -> None:
    durations = Durations.of([3, 5, 5, 2**39])
    assert msgspec.json.decode(msgspec.json.encode(durations), type=Durations) == durations


def test_a_bucket_that_nothing_fell_into_has_no_share_of_a_percentile() -> None:
    assert math.isnan(Durations(0.0, 0.0, {3: 0.0}).quantile_ns(0.5))
    assert Durations(40.0, 1.0, {2: 0.0, 8: 1.0}).quantile_ns(0.0) == edges(8)[0]
