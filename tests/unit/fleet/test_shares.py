"""Every scheduled match has one host, also when hosts are given up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ludus.fleet.shares import dealt, handed_on

COUNT = st.integers(1, 20)


@given(st.integers(0, 200), COUNT)
def test_every_match_is_dealt_once_and_evenly(matches: int, hosts: int) -> None:
    schedule = [(number, 7 * number) for number in range(matches)]
    shares = dealt(schedule, hosts)
    assert sorted(match for share in shares for match in share) == schedule
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 200), COUNT, st.integers(0, 20), COUNT)
def test_idle_hosts_take_in_order_and_leave_the_others_as_much(
    matches: int, idle: int, playing: int, at_once: int
) -> None:
    left = [(number, 7 * number) for number in range(matches)]
    taken = handed_on(left, range(idle), playing=playing, at_once=at_once)
    assert [match for _, share in taken for match in share] == left[: sum(len(share) for _, share in taken)]
    assert [host for host, _ in taken] == list(range(len(taken)))
    even = matches / (idle + playing)
    assert all(len(share) <= max(at_once, even + 1) for _, share in taken)
    assert bool(taken) == bool(left)
    assert playing or sum(len(share) for _, share in taken) == matches


def test_a_few_matches_go_to_one_host_that_can_play_them_all_at_once() -> None:
    left = [(number, 0) for number in range(10)]
    assert handed_on(left, [2, 5], playing=1, at_once=64) == [(2, left)]
    assert handed_on(left, [2, 5], playing=3, at_once=2) == [(2, left[:2]), (5, left[2:4])]
