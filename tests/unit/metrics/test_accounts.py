"""Matches that began have ended, were voided, were left at a change of stage, or are under way."""

from __future__ import annotations

from ludus.metrics import accounts, names
from ludus.metrics.core import Metrics


def counted(begun: int, ended: int = 0, voided: int = 0, unfinished: int = 0, decisions: int = 0) -> Metrics:
    metrics = Metrics()
    for name, value in (
        (names.BEGUN, begun),
        (names.MATCHES, ended),
        (names.VOIDED, voided),
        (names.UNFINISHED, unfinished),
    ):
        metrics.add(name, value)
    metrics.set(names.UNDER_WAY_DECISIONS, decisions)
    return metrics


def test_what_neither_ended_nor_was_lost_is_under_way() -> None:
    assert accounts.under_way(counted(10, ended=4, voided=2, unfinished=1).counters()) == 3


def test_counters_without_begun_matches_have_none_under_way() -> None:
    assert accounts.under_way({names.MATCHES: 7}) == 0


def test_matches_lost_with_the_actor_are_voided_by_that_reason_with_their_decisions() -> None:
    metrics = counted(10, ended=4, voided=2, decisions=55)
    metrics.add(names.VOIDED_BY("died"), 2)
    assert accounts.void_under_way(metrics, accounts.ACTOR) == 4
    numbers = metrics.snapshot()
    assert numbers[names.VOIDED] == 6
    assert numbers[names.VOIDED_BY("actor_died")] == 4
    assert numbers[names.VOIDED_DECISIONS] == 55
    assert numbers[names.UNDER_WAY] == 0


def test_nothing_is_voided_where_nothing_is_under_way() -> None:
    metrics = counted(3, ended=3)
    assert accounts.void_under_way(metrics, accounts.ANEW) == 0
    assert names.VOIDED_BY("anew") not in metrics.counters()
