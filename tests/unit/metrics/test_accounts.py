"""Matches that began have ended, were voided, were left at a change of stage, or are under way."""

from __future__ import annotations

from ludus.metrics import accounts, names
from ludus.metrics.accounts import MatchAccount
from ludus.metrics.core import Delta, Metrics


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
    metrics, ledger = Metrics(), MatchAccount()
    delta = counted(10, ended=4, voided=2, decisions=55).drain()
    ledger.count(delta)
    metrics.merge(delta)
    metrics.add(names.VOIDED_BY("died"), 2)
    assert ledger.void(metrics, accounts.ACTOR) == 4
    numbers = metrics.snapshot()
    assert numbers[names.VOIDED] == 6
    assert numbers[names.VOIDED_BY("actor_died")] == 4
    assert numbers[names.VOIDED_DECISIONS] == 55
    assert numbers[names.UNDER_WAY] == 0


def test_nothing_is_voided_where_nothing_is_under_way() -> None:
    metrics, ledger = Metrics(), MatchAccount()
    ledger.count(counted(3, ended=3, decisions=7).drain())
    assert ledger.void(metrics, accounts.ACTOR) == 0
    assert names.VOIDED_BY("actor_died") not in metrics.counters()
    assert names.VOIDED_DECISIONS not in metrics.counters()


def test_the_loss_of_one_of_two_actors_voids_its_matches_only() -> None:
    metrics, ledgers = Metrics(), (MatchAccount(3), MatchAccount())  # the first one continues three matches
    for actor, begun in enumerate((5, 7)):
        delta = Delta({names.BEGUN: begun}, {names.UNDER_WAY: begun, names.UNDER_WAY_DECISIONS: 10 * begun})
        ledgers[actor].count(delta)
        metrics.merge(delta, actor)
    assert metrics.snapshot()[names.UNDER_WAY] == 12
    assert ledgers[0].void(metrics, accounts.ACTOR, 0) == 8
    numbers = metrics.snapshot()
    assert (numbers[names.VOIDED], numbers[names.VOIDED_DECISIONS]) == (8, 50)
    assert (numbers[names.UNDER_WAY], numbers[names.UNDER_WAY_DECISIONS]) == (7, 70)
    assert ledgers[1].matches == 7
