"""The planner of storms: the same seed, the same faults; every kind that is on, none that is off."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from tests.storm import garbage, plan
from tests.storm.plan import KINDS, Gust


def first(count: int, seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> list[Gust]:
    return list(islice(plan.gusts(seed, kinds, pause_s=(0.2, 1.5)), count))


def test_the_same_seed_deals_the_same_faults_and_another_seed_deals_others() -> None:
    assert first(50, 1) == first(50, 1)
    assert first(50, 1) != first(50, 2)


def test_every_kind_comes_up_as_often_as_its_weight_says_before_any_comes_up_again() -> None:
    cards = sum(kind.weight for kind in KINDS.values())
    dealt = [fault.kind for gust in first(2 * cards, 5) for fault in gust.faults]
    assert Counter(dealt[:cards]) == {name: kind.weight for name, kind in KINDS.items()}


def test_faults_that_must_be_alone_are() -> None:
    together = [gust for gust in first(500, 3) if len(gust.faults) > 1]
    assert together
    assert not any(fault.of.alone for gust in together for fault in gust.faults)


def test_faults_last_as_long_as_their_kind_allows() -> None:
    for gust in first(300, 4):
        for fault in gust.faults:
            low, high = fault.of.lasting_s
            assert low <= fault.lasting_s <= high


def test_kinds_can_be_switched_on_and_off_and_need_what_they_need() -> None:
    assert plan.enabled(only=("host-kill", "disk-full"), lacking=("disk",)) == ("host-kill",)
    assert "actor-kill" not in plan.enabled(without=("actor-kill",))
    assert not any(kind.startswith("server") for kind in plan.enabled(lacking=("servers",)))
    with pytest.raises(ValueError, match="no such fault: host-tickle; there are host-kill"):
        plan.enabled(only=("host-tickle",))


def test_without_kinds_there_are_no_faults() -> None:
    assert first(5, 1, ()) == []


def test_garbage_is_of_its_seed_and_a_flipped_bit_is_one_bit() -> None:
    kinds = [kind for kind in KINDS if kind.startswith("host-") and kind.rpartition("-")[2] in SPOKEN]
    assert len(kinds) == len(SPOKEN)
    for kind in kinds:
        assert garbage.among_frames(kind, 9) == garbage.among_frames(kind, 9) != b""
    data = bytes(range(200))
    flipped = garbage.flipped(data, 9)
    assert sum((one ^ other).bit_count() for one, other in zip(data, flipped, strict=True)) == 1


SPOKEN = ("random", "chatter", "latin1", "nested", "huge", "half", "dribble")
