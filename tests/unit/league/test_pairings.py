"""Who plays whom in a tournament."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from tests.unit.league.test_ratings import simulated

from ludus.league import pairings
from ludus.league.pairings import Encounter, gauntlet, introductions, round_robin, swiss, unsettled
from ludus.league.payoff import Payoff
from ludus.league.ratings import rate


def test_a_round_robin_pairs_all_and_a_gauntlet_only_the_challengers() -> None:
    assert round_robin(("a", "b", "c"), 5) == [Encounter("a", "b", 5), Encounter("a", "c", 5), Encounter("b", "c", 5)]
    assert gauntlet(("a", "b"), ("a", "b", "c", "d"), 1) == [
        Encounter("a", "c", 1),
        Encounter("a", "d", 1),
        Encounter("b", "c", 1),
        Encounter("b", "d", 1),
    ]


def test_a_swiss_round_pairs_equal_scores_that_have_not_met() -> None:
    first = swiss(("a", "b", "c", "d", "e"), {}, set(), 1)
    assert first == [Encounter("a", "b", 1), Encounter("c", "d", 1)], "e pauses"
    met = {frozenset(("a", "b")), frozenset(("c", "d"))}
    second = swiss(("a", "b", "c", "d"), {"a": 1.0, "c": 1.0}, met, 1)
    assert second == [Encounter("a", "c", 1), Encounter("b", "d", 1)]
    third = swiss(("a", "b", "c", "d", "e"), {"a": 1.0, "c": 1.0}, met, 1)
    assert {name for each in third for name in (each.first, each.second)} == {"a", "b", "c", "e"}, "e paused before"
    assert pairings.swiss_rounds(2) <= pairings.swiss_rounds(8) <= pairings.swiss_rounds(100) < 10


def test_all_members_of_a_small_league_are_introduced_and_of_a_large_one_enough() -> None:
    small = introductions(("a", "b", "c"), {frozenset("ab"): 4, frozenset("bc"): 2})
    assert small == [Encounter("a", "c", 2), Encounter("b", "c", 1)]
    names = tuple(f"m{at}" for at in range(200))
    large = introductions(names, {})
    assert 2 * sum(each.pairs for each in large) < 200 * 8 * 2 * pairings.FIRST_PAIRS
    reached = {"m0"}
    for _ in range(200):
        reached |= {name for each in large for name in (each.first, each.second) if {each.first, each.second} & reached}
    assert len(reached) == 200


def test_matches_go_where_an_interval_decides_a_rank() -> None:
    """Two are close, the third is far ahead: only the close ones play."""
    generator = np.random.default_rng(1)
    ratings = rate(simulated(np.array([0.0, 25.0, 600.0]), 30, generator), "m000")
    (encounter,) = unsettled(ratings, ratings.names)
    assert {encounter.first, encounter.second} == {"m000", "m001"}
    assert pairings.LEAST_PAIRS <= encounter.pairs <= pairings.ROUND_PAIRS


def test_equals_are_settled_once_their_difference_is_surely_small() -> None:
    generator = np.random.default_rng(2)
    payoff = simulated(np.zeros(2), 0, generator)
    rounds = 0
    while encounters := unsettled(rate(payoff), payoff.names):
        more = simulated(np.zeros(2), encounters[0].pairs, generator)
        payoff = Payoff(payoff.names, payoff.wins + more.wins, payoff.ties, payoff.losses + more.losses, payoff.pairs)
        rounds += 1
        assert rounds < 100
    assert payoff.matches.sum() < 20_000


def test_a_league_that_is_settled_plays_no_more() -> None:
    ratings = rate(simulated(np.array([0.0, 300.0, 700.0]), 300, np.random.default_rng(3)), "m000")
    assert unsettled(ratings, ratings.names) == []


def meetings_of(encounters: list[Encounter]) -> Counter[frozenset[str]]:
    counts: Counter[frozenset[str]] = Counter()
    for each in encounters:
        counts.update(dict.fromkeys(map(frozenset, combinations(each.players, 2)), each.pairs))
    return counts


@pytest.mark.parametrize(("members", "teams"), [(4, 3), (7, 3), (9, 4), (12, 8)])
def test_with_several_teams_all_members_meet_at_few_tables(members: int, teams: int) -> None:
    names = tuple(f"m{at}" for at in range(members))
    encounters = round_robin(names, 5, teams)
    assert {len(set(each.players)) for each in encounters} == {teams}
    counts = meetings_of(encounters)
    assert all(counts[frozenset(couple)] >= 5 for couple in combinations(names, 2))
    assert sum(counts.values()) < 2.6 * 5 * members * (members - 1) / 2


def test_at_a_table_with_too_few_members_some_play_several_teams() -> None:
    encounters = round_robin(("a", "b"), 4, 3)
    assert encounters == [Encounter("a", "b", 2, ("a",)), Encounter("b", "a", 2, ("b",))]
    assert swiss(("a", "b"), {}, set(), 2, 3) == [Encounter("a", "b", 1, ("a",)), Encounter("b", "a", 1, ("b",))]


def test_challengers_meet_all_others_and_a_swiss_round_seats_equal_scores_with_several_teams() -> None:
    tables = gauntlet(("a",), ("a", "b", "c", "d", "e", "f"), 2, 3)
    assert {each.first for each in tables} == {"a"}
    assert {name for each in tables for name in each.players[1:]} == set("bcdef")
    names = ("a", "b", "c", "d", "e", "f", "g")
    assert swiss(names, {"e": 3.0, "f": 2.0}, set(), 1, 3) == [
        Encounter("e", "f", 1, ("a",)),
        Encounter("b", "c", 1, ("d",)),
    ], "g pauses"


def test_neighbours_whose_order_is_not_known_play_at_a_table_with_those_next_to_them() -> None:
    names = ("a", "b", "c", "d", "e")
    ratings = rate(Payoff.of(names, [], [], np.zeros(0), np.zeros(0, np.int64)))
    tables = unsettled(ratings, names, teams=3)
    assert {len(set(each.players)) for each in tables} == {3}
    assert {name for each in tables for name in each.players} == set(names)
    assert unsettled(ratings, ("a", "b"), teams=4) != []
