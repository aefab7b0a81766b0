"""Tournaments of a league on real hosts of the toy game, with members that fail in several ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.faulty.game import game as faulty
from tests.faulty.options import FaultyOptions

from ludus.config.settings import FleetConfig
from ludus.errors import CheckpointError, LeagueError
from ludus.evaluation.best_matches import BestMatches, list_best
from ludus.evaluation.replay import replay
from ludus.evaluation.tournament import Arenas, PairSeating, Tournament, TournamentStoppedError
from ludus.evaluation.value_swings import ValueSwings
from ludus.games import registry
from ludus.games.registry import Game
from ludus.games.toy.options import ToyOptions
from ludus.league import results
from ludus.league.pairings import Encounter, round_robin
from ludus.league.ratings import rate
from ludus.league.results import MatchRecord, ResultsWriter
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, Policy

TOY = registry.load("toy")


class FirstPolicy:
    """Plays the first legal action, and fails as its subclass says."""

    def act(self, arrivals: Arrivals) -> Choices:
        return Choices.scripted(arrivals.legal.argmax(1).astype(np.int32))


class IllegalPolicy(FirstPolicy):
    def act(self, arrivals: Arrivals) -> Choices:
        return Choices.scripted(np.full(len(arrivals), -1, np.int32))


class CrashingPolicy(FirstPolicy):
    def __init__(self, calls: int) -> None:
        self.calls = calls

    def act(self, arrivals: Arrivals) -> Choices:
        self.calls -= 1
        if self.calls < 0:
            raise RuntimeError("out of memory")
        return super().act(arrivals)


def tournament(
    folder: Path,
    policies: Mapping[str, Policy],
    *,
    options: ToyOptions | FaultyOptions | None = None,
    game: Game = TOY,
    stopped: Callable[[], bool] = lambda: False,
    best: BestMatches | None = None,
    teams: tuple[int, ...] = (0, 1),
) -> Tournament:
    def load(name: str, spec: GameSpec) -> Policy:
        if name in policies:
            return policies[name]
        if name in game.scripted:
            return game.scripted[name](spec, 1)
        raise CheckpointError(f"the checkpoint of {name} does not exist")

    options = options or ToyOptions(game="nim")
    fleet = FleetConfig(matches=4, backoff_s=0.01, failures_in_a_row=2)
    arenas = Arenas(game, options, teams, folder / "logs", fleet, hosts=2, deadline_s=60.0)
    return Tournament(arenas, load, ResultsWriter(folder), seed=5, stopped=stopped, best=best)


def test_every_pair_is_played_from_both_sides_and_is_in_the_log(tmp_path: Path) -> None:
    games = tournament(tmp_path, {"first": FirstPolicy()})
    assert games.play(round_robin(("first", "perfect", "random"), 10)) == 60
    records = results.read(tmp_path).records
    assert len(records) == 60
    assert sorted(map(repr, games.played.records)) == sorted(map(repr, records))
    payoff = results.read(tmp_path).payoff({"first", "perfect", "random"})
    assert payoff.pairs.sum() == 30
    assert (payoff.matches + payoff.matches.T)[~np.eye(3, dtype=bool)].tolist() == [20] * 6
    ratings = rate(payoff, "random")
    assert ratings.elo[payoff.names.index("perfect")] > ratings.elo[payoff.names.index("random")] + 100


def test_the_side_of_a_member_is_the_one_its_record_names(tmp_path: Path) -> None:
    """The policy of a row plays the seat that the record says: a perfect player of nim wins from one side always."""
    games = tournament(tmp_path, {})
    games.play([Encounter("perfect", "random", 20)])
    by_side = {
        side: np.mean([score for name, score in scores if name == "perfect"])
        for side, scores in {
            "first": [(each.first, each.score) for each in games.played.records],
            "second": [(each.second, 1 - each.score) for each in games.played.records],
        }.items()
    }
    assert min(by_side.values()) > 0.7
    assert {each.first for each in games.played.records} == {"perfect", "random"}


def test_a_member_that_chooses_illegal_actions_forfeits(tmp_path: Path) -> None:
    games = tournament(tmp_path, {"illegal": IllegalPolicy()})
    games.play(round_robin(("illegal", "perfect", "random"), 4))
    assert games.played.forfeits == {"illegal": 16}
    log = results.read(tmp_path)
    assert log.forfeits == {"illegal": 16}
    assert {each.forfeit for each in log.records if "illegal" in (each.first, each.second)} == {"illegal action"}
    assert games.played.failures == {}
    assert log.payoff({"illegal", "perfect"}).scores[0].sum() == 0


def test_a_member_that_crashes_forfeits_the_matches_it_was_in_and_plays_no_more(tmp_path: Path) -> None:
    games = tournament(tmp_path, {"bad": CrashingPolicy(3)})
    games.play(round_robin(("bad", "perfect", "random"), 20))
    assert "out of memory" in games.played.failures["bad"]
    assert 0 < games.played.forfeits["bad"] <= 8, "at most the matches that ran"
    assert games.played.dropped > 40
    assert games.played.matches + games.played.dropped == 120
    assert len(results.read(tmp_path).records) == games.played.matches
    assert games.play([Encounter("bad", "random", 5)]) == 0
    assert games.play([Encounter("bad", "random", 5), Encounter("perfect", "random", 5)]) == 10


class ChangingPolicy(CrashingPolicy):
    """A policy on a server that gets other weights after some calls."""

    def act(self, arrivals: Arrivals) -> Choices:
        try:
            return super().act(arrivals)
        except RuntimeError as error:
            raise LeagueError("it now serves version 2") from error


def test_matches_of_a_member_whose_weights_change_have_no_result(tmp_path: Path) -> None:
    games = tournament(tmp_path, {"changing": ChangingPolicy(5)})
    games.play(round_robin(("changing", "perfect", "random"), 20))
    played = games.played
    assert played.failures == {"changing": "it now serves version 2"}
    assert (played.forfeits, played.dropped > 0) == ({}, True)
    assert played.matches + played.dropped == 120
    assert sum({each.first, each.second} == {"perfect", "random"} for each in played.records) == 40


def test_a_member_that_vanished_costs_only_its_own_matches(tmp_path: Path) -> None:
    games = tournament(tmp_path, {})
    assert games.play(round_robin(("gone", "perfect", "random"), 4)) == 8
    assert games.played.failures == {"gone": "the checkpoint of gone does not exist"}
    assert (games.played.dropped, games.played.forfeits) == (16, {})


def test_matches_lost_with_their_host_count_once(tmp_path: Path) -> None:
    options = FaultyOptions(game="nim", crash_after=10, fault_marker=str(tmp_path / "marker"))
    games = tournament(tmp_path, {}, options=options, game=faulty)
    assert games.play(round_robin(("perfect", "random"), 20)) == 40
    assert games.played.voided > 0
    records = results.read(tmp_path).records
    assert len({(each.seed, each.first) for each in records}) == len(records) == 40


def test_stopping_keeps_every_match_that_ended(tmp_path: Path) -> None:
    def stopped() -> bool:
        return len(results.read(tmp_path).records) >= 5

    games = tournament(tmp_path, {}, stopped=stopped)
    with pytest.raises(TournamentStoppedError):
        games.play(round_robin(("perfect", "random"), 2000))
    ended = games.played.matches
    assert 5 <= ended < 4000
    assert len(results.read(tmp_path).records) == ended


def test_a_log_that_cannot_be_written_ends_the_tournament(tmp_path: Path) -> None:
    (tmp_path / results.FOLDER).write_text("a file where the folder should be")
    with pytest.raises(LeagueError, match="the result of a match cannot be written"):
        tournament(tmp_path, {}).play(round_robin(("perfect", "random"), 4))


def test_upsets_are_saved_and_can_be_replayed(tmp_path: Path) -> None:
    names = {"perfect", "random"}
    one_sided = [MatchRecord("perfect", "random", seed, 1.0) for seed in range(60)]
    ratings = rate(results.Results(one_sided).payoff(names))
    best = BestMatches(tmp_path, ratings)
    games = tournament(tmp_path, {}, best=best, options=ToyOptions(game="nim", dealt=4))
    games.play(round_robin(("perfect", "random"), 60))
    upsets = sum(each.score == (each.first == "random") for each in games.played.records)
    kept = list_best(tmp_path, ratings, prune=True)
    assert upsets > 0
    assert 0 < len([each for each in kept if each.kind == "upset"]) <= 6
    assert {path.name for path in best.folder.iterdir()} == {each.path.name for each in kept}
    assert replay(kept[0].path).match.policies in (("perfect", "random"), ("random", "perfect"))


class HopefulPolicy(FirstPolicy):
    """Expects to lose at first, and to win from its second decision on; or the other way round."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end

    def act(self, arrivals: Arrivals) -> Choices:
        value = np.where(arrivals.opens, self.begin, self.end).astype(np.float32)
        return msgspec.structs.replace(super().act(arrivals), value=value)


def test_matches_in_which_estimates_swung_are_saved_with_the_swing(tmp_path: Path) -> None:
    ratings = rate(results.Results([]).payoff({"hopeful", "perfect", "random"}))
    best = BestMatches(tmp_path, ratings)
    games = tournament(tmp_path, {"hopeful": HopefulPolicy(-0.75, 0.5)}, best=best)
    games.play(round_robin(("hopeful", "perfect", "random"), 10))
    swings = [each for each in list_best(tmp_path, ratings) if each.kind == "swing"]
    assert swings
    for each in swings:
        seat = each.match.policies.index("hopeful")
        assert each.match.score[seat] == 1.0, "who loses as it expected in the end has no swing"
        assert len(each.match.actions[seat]) > 1
        assert each.match.value_swing == each.interest == 1.25
    assert all("hopeful" in each.match.policies for each in swings)


def test_the_swing_of_a_loser_is_how_far_its_hopes_fell() -> None:
    swings = ValueSwings(2, 2)

    def decide(match: int, seat: int, value: float, *, opens: bool = False) -> None:
        arrivals = Arrivals(
            np.array([2 * match + seat], np.int32),
            np.array([match]),
            np.zeros((1, 8), np.uint8),
            np.ones((1, 2), np.bool_),
            np.zeros(1, np.float32),
            np.array([opens]),
        )
        swings.observe(arrivals, Choices(np.zeros(1, np.int32), np.zeros(1, np.float32), np.array([value], np.float32)))

    def swing(match: int, *score: float) -> float:
        return swings.of(
            Ending(match, np.arange(2, dtype=np.int32), np.array(score, np.float32), np.zeros(2, np.float32), False, 1)
        )

    for value in (0.2, 0.9, -0.6):
        decide(0, 1, value, opens=value == 0.2)
    assert swing(0, 1.0, 0.0) == pytest.approx(1.5)
    assert swing(0, 0.5, 0.5) == 0.0, "nobody won"
    assert swing(1, 1.0, 0.0) == 0.0, "nobody had an estimate"
    decide(0, 1, 0.1, opens=True)
    assert swing(0, 1.0, 0.0) == 0.0, "the match was voided and began again"


def test_of_several_teams_those_that_forfeit_come_last(tmp_path: Path) -> None:
    options = ToyOptions(game="rps", seats=3, rounds=2)
    games = tournament(tmp_path, {"illegal": IllegalPolicy()}, options=options, teams=(0, 1, 2))
    games.play([Encounter("illegal", "perfect", 4, ("random",))])
    log = results.read(tmp_path)
    assert len(log.ranked) == games.played.matches == 12
    assert games.played.forfeits == log.forfeits == {"illegal": 12}
    for match in log.ranked:
        place = match.players.index("illegal")
        assert match.forfeit[place] == "illegal action"
        assert match.score[place] == 0.0
        assert min(score for at, score in enumerate(match.score) if at != place) >= 0.5
    ratings = log.ratings({"illegal", "perfect", "random"}, "random")
    assert ratings.elo.argmin() == ratings.names.index("illegal")


def test_numbers_say_who_sits_where_also_in_teams() -> None:
    seating = PairSeating.of([Encounter("b", "a", 2)], (0, 1, 1, 0), np.random.default_rng(1))
    assert seating.players == ("a", "b")
    assert [seating.names(number) for number in (0, 1)] == [["b", "a", "a", "b"], ["a", "b", "b", "a"]]
    assert seating.members(0) == ("b", "a")
    for number in range(len(seating)):
        rows = np.arange(4, dtype=np.int32)
        players = seating.player(rows, np.full(4, number, np.int64))
        assert [seating.players[place] for place in players] == seating.names(number)
    assert [seed for _, seed in seating.matches()][0::2] == [seed for _, seed in seating.matches()][1::2]
