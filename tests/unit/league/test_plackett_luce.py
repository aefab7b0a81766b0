"""Ratings from matches of several teams, of simulated members whose strengths are known."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.league.payoff import Payoff
from ludus.league.plackett_luce import Rankings, rate_rankings
from ludus.league.ratings import ANCHOR_ELO, SCALE, rate

Strengths = NDArray[np.float64]


def names_of(n: int) -> tuple[str, ...]:
    return tuple(f"m{at:03d}" for at in range(n))


def drawn(
    strengths: Strengths,
    teams: int,
    matches: int,
    generator: np.random.Generator,
    *,
    winner_only: bool = False,
    advantage: float = 0.0,
    same_seed: bool = False,
) -> Rankings:
    """Matches of random members. With `winner_only`, all but the first have the score 0. The first team has the
    `advantage`. With `same_seed`, luck goes with the team: the same in all rotations of a seating."""
    n = len(strengths)
    seats = np.stack([generator.permutation(n)[:teams] for _ in range(-(-matches // teams))])
    member = np.concatenate([np.roll(seats, -turn, axis=1) for turn in range(teams)])
    luck = generator.gumbel(size=(len(seats), teams)) if same_seed else generator.gumbel(size=member.shape)
    luck = np.tile(luck, (teams, 1)) if same_seed else luck
    level = strengths[member] / SCALE + luck + np.eye(teams)[0] * advantage / SCALE
    place = (-level).argsort(1).argsort(1)
    score = (place == 0).astype(float) if winner_only else 1 - place / (teams - 1)
    names = np.array(names_of(n))
    seed = np.tile(np.arange(len(seats)), teams)
    return Rankings.of(names_of(n), names[member].tolist(), score.tolist(), seed)


def coverage(simulations: int, *, teams: int, matches: int, winner_only: bool, same_seed: bool = False) -> float:
    """The share of 95% intervals that hold the true difference from the anchor, m000."""
    generator = np.random.default_rng(5)
    hits = total = 0
    for _ in range(simulations):
        strengths = generator.normal(0.0, 200.0, 6)
        rankings = drawn(
            strengths, teams, matches, generator, winner_only=winner_only, advantage=40.0, same_seed=same_seed
        )
        ratings = rate_rankings(rankings, "m000")
        truth = strengths - strengths[0] + ANCHOR_ELO
        for member in range(1, 6):
            low, high = ratings.interval(member)
            hits += low <= truth[member] <= high
            total += 1
    return hits / total


@pytest.mark.parametrize("winner_only", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(winner_only: bool) -> None:
    assert 0.93 <= coverage(1000, teams=4, matches=60, winner_only=winner_only) <= 0.97


@pytest.mark.parametrize(("teams", "matches", "winner_only"), [(3, 15, False), (5, 300, True), (3, 200, True)])
def test_intervals_hold_the_truth_with_few_and_many_matches(teams: int, matches: int, winner_only: bool) -> None:
    assert 0.93 <= coverage(300, teams=teams, matches=matches, winner_only=winner_only) <= 0.97


def test_intervals_narrow_where_a_seed_favours_a_team() -> None:
    """Members that change places on one seed share its luck, so that it tells little about who is stronger."""
    assert coverage(200, teams=4, matches=80, winner_only=True, same_seed=True) >= 0.93
    generator = np.random.default_rng(8)
    rankings = drawn(np.zeros(4), 4, 4000, generator, winner_only=True, same_seed=True)
    shuffled = Rankings(rankings.names, rankings.member, rankings.score, np.arange(len(rankings.seed)))
    assert rate_rankings(rankings).dispersion < 0.5
    assert rate_rankings(shuffled).dispersion == pytest.approx(1.0, abs=0.05)


def test_the_order_of_the_matches_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    players = [[f"m{at}" for at in generator.permutation(6)[:4]] for _ in range(200)]
    scores = generator.choice([0.0, 0.5, 1.0], (200, 4)).tolist()
    seed = generator.integers(0, 40, 200)

    def rated(order: NDArray[np.int64]) -> list[float]:
        rankings = Rankings.of(
            [f"m{at}" for at in range(6)], [players[at] for at in order], [scores[at] for at in order], seed[order]
        )
        ratings = rate_rankings(rankings, "m2")
        return [*ratings.elo, *ratings.covariance.ravel(), *ratings.team_advantages]

    expected = rated(np.arange(200))
    for _ in range(3):
        assert rated(generator.permutation(200)) == expected


def test_two_teams_are_rated_like_a_bradley_terry_model_rates_them() -> None:
    strengths = np.array([0.0, 120.0, -80.0, 200.0])
    rankings = drawn(strengths, 2, 20_000, np.random.default_rng(3), advantage=60.0)
    payoff = rankings.payoff()
    ours, theirs = rate_rankings(rankings, "m000"), rate(payoff, "m000")
    assert ours.elo == pytest.approx(theirs.elo, abs=0.5)
    assert ours.team_advantages[0] - ours.team_advantages[1] == pytest.approx(theirs.advantage, abs=0.5)
    lengths = [ours.interval(at)[1] - ours.interval(at)[0] for at in (1, 2, 3)]
    assert lengths == pytest.approx([theirs.interval(at)[1] - theirs.interval(at)[0] for at in (1, 2, 3)], rel=0.05)


def test_strengths_and_the_advantage_of_a_team_are_estimated_also_from_winners_alone() -> None:
    strengths = np.array([0.0, 150.0, -150.0, 60.0, 250.0])
    for winner_only in (False, True):
        rankings = drawn(strengths, 4, 24_000, np.random.default_rng(2), winner_only=winner_only, advantage=80.0)
        ratings = rate_rankings(rankings, "m000")
        assert ratings.elo - ANCHOR_ELO == pytest.approx(strengths, abs=15)
        assert sum(ratings.team_advantages) == pytest.approx(0.0)
        assert ratings.team_advantages == pytest.approx([60, -20, -20, -20], abs=4 * max(ratings.team_errors))


def test_shared_places_count_as_equal_shares() -> None:
    names = ("a", "b", "c")
    tied = Rankings.of(names, [("a", "b", "c")] * 50, [(0.5, 0.5, 0.5)] * 50, np.arange(50))
    assert rate_rankings(tied).elo == pytest.approx([ANCHOR_ELO] * 3)
    two_alive = Rankings.of(names, [("a", "b", "c")] * 50, [(0.5, 0.5, 0.0)] * 50, np.arange(50))
    elo = rate_rankings(two_alive).elo
    assert elo[0] == pytest.approx(elo[1])
    assert elo[0] > elo[2] + 100


def test_a_member_that_plays_several_teams_is_not_compared_with_itself() -> None:
    rankings = Rankings.of(("a", "b"), [("a", "b", "b"), ("b", "a", "b")], [(1, 0, 0), (0, 1, 0)], np.array([1, 1]))
    payoff = rankings.payoff()
    assert payoff.scores.tolist() == [[0, 4], [0, 0]]
    assert rankings.matches.tolist() == [2, 2]
    ratings = rate_rankings(rankings, "b")
    assert ratings.elo[0] > ANCHOR_ELO + 50
    alone = Rankings.of(("a",), [("a", "a", "a")], [(1, 0, 0)], np.array([1]))
    assert rate_rankings(alone).elo == pytest.approx([ANCHOR_ELO])


def test_losers_that_share_the_last_place_are_not_compared() -> None:
    rankings = Rankings.of(("a", "b", "c"), [("a", "b", "c")], [(1.0, 0.0, 0.0)], np.array([1]))
    payoff = rankings.payoff()
    assert payoff.meetings.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    everyone = Rankings.of(("a", "b", "c"), [("a", "b", "c")], [(0.5, 0.5, 0.5)], np.array([1])).payoff()
    assert isinstance(everyone, Payoff)
    assert everyone.ties.sum() == 3


def test_without_matches_of_the_anchor_the_mean_is_fixed() -> None:
    rankings = Rankings.of(("a", "b", "c", "d"), [("a", "b", "c")], [(1.0, 0.5, 0.0)], np.array([1]))
    ratings = rate_rankings(rankings, "d")
    assert ratings.anchor is None
    assert ratings.elo.mean() == pytest.approx(ANCHOR_ELO)
    low, high = ratings.interval(3)
    assert high - low > 1500


def test_200_members_and_100_000_matches_of_four_are_rated_in_seconds() -> None:
    generator = np.random.default_rng(6)
    strengths = generator.normal(0, 300, 200)
    rankings = drawn(strengths, 4, 100_000, generator)
    began_s = time.process_time()
    ratings = rate_rankings(rankings, "m000")
    assert time.process_time() - began_s < 5.0
    error = np.sqrt(np.diag(ratings.covariance))[1:]
    off = (ratings.elo - ANCHOR_ELO - strengths + strengths[0])[1:]
    assert np.mean(np.abs(off) < 2 * error) > 0.9
