"""The arena on real hosts of the toy game."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.faulty.game import game as faulty
from tests.faulty.options import FaultyOptions
from tests.playing import first_host_dies

from ludus.config.settings import FleetConfig
from ludus.errors import ConfigError, EvaluationError, FleetError
from ludus.evaluation import arena
from ludus.evaluation.schedule import Schedule, evenly
from ludus.games import registry
from ludus.games.registry import Game
from ludus.games.toy.options import ToyOptions
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, Policy

TOY = registry.load("toy")
NIM = ToyOptions(game="nim")


def scripted(spec: GameSpec) -> Mapping[str, Policy]:
    return {name: make(spec, 1) for name, make in TOY.scripted.items()}


def compete(
    tmp_path: Path,
    options: ToyOptions = NIM,
    opponents: tuple[str, ...] = ("random", "perfect"),
    matches: int = 20,
    game: Game = TOY,
) -> list[arena.MatchupResult]:
    return arena.play(
        game,
        options,
        scripted,
        agent="perfect",
        opponents=opponents,
        matches=matches,
        seed=7,
        log_dir=tmp_path,
        fleet=FleetConfig(matches=4, backoff_s=0.01, failures_in_a_row=2),
        hosts=2,
        deadline_s=60.0,
    )


def test_with_more_seats_the_agent_takes_each_once_and_the_opponent_all_others() -> None:
    schedule = Schedule.of(("a", "b"), evenly(7, range(3)), seed=1, teams=range(3))
    assert len(schedule) == 18
    assert [schedule.names(number, "me") for number in range(3)] == [
        ["me", "a", "a"],
        ["a", "me", "a"],
        ["a", "a", "me"],
    ]
    assert schedule.names(9, "me") == ["me", "b", "b"]
    assert len({seed for _, seed in schedule.matches()[:3]}) == 1


def test_the_agent_takes_all_seats_of_a_team_and_earns_what_one_of_them_did() -> None:
    schedule = Schedule.of(("a",), evenly(3, (0, 0, 1, 1)), seed=1, teams=(0, 0, 1, 1))
    assert [schedule.names(number, "me") for number in range(4)] == [
        ["me", "me", "a", "a"],
        ["a", "a", "me", "me"],
    ] * 2
    tally = arena.ScheduleTally(schedule)
    row, nothing = np.arange(4, dtype=np.int32), np.zeros((4, 0), np.uint8)
    earned = np.array((1.0, 2.0, 10.0, 20.0), np.float32)
    for number in range(4):
        match = np.full(4, number, np.int64)
        tally.choose(Arrivals(row, match, nothing, nothing.astype(np.bool_), earned, earned < 0))
        score = np.array((1.0, 1.0, 0.0, 0.0), np.float32)
        tally.end(Ending(number, row, score, np.array((1.0, 1.0, 0.0, 0.0), np.float32), False, 0))
    (result,) = tally.results()
    assert (result.wins, result.losses) == (2, 2)
    assert result.decisions == 8
    assert result.reward == pytest.approx((2.5 + 15.0) / 2)


def test_a_schedule_gives_every_opponent_the_same_seeds_from_every_seat() -> None:
    schedule = Schedule.of(("a", "b"), 6, seed=1)
    numbers = np.array([number for number, _ in schedule.matches()])
    seeds = np.array([seed for _, seed in schedule.matches()])
    assert numbers.tolist() == list(range(12))
    for opponent in (0, 1):
        for seat in (0, 1):
            chosen = (schedule.opponent(numbers) == opponent) & schedule.agents(
                np.full(len(numbers), seat, np.int32), numbers
            )
            assert tuple(seeds[chosen]) == schedule.seeds
    assert len(set(schedule.seeds)) == 3


def test_matches_that_hosts_give_up_for_good_end_the_contest_at_once(tmp_path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(EvaluationError, match=r"\d+ scheduled matches were given up by their hosts.*host: "):
        compete(tmp_path, FaultyOptions(game="nim", match_error_after=3), game=faulty)
    assert time.monotonic() - began_s < 30.0


def test_a_match_number_says_who_sits_where() -> None:
    schedule = Schedule.of(("a", "b"), 4, seed=1)
    assert [schedule.names(number, "me") for number in (0, 1, 4, 7)] == [
        ["me", "a"],
        ["a", "me"],
        ["me", "b"],
        ["b", "me"],
    ]


def test_saved_matches_are_chosen_beforehand_and_spread_over_opponents() -> None:
    schedule = Schedule.of(("a", "b"), 4, seed=1)
    assert schedule.sample(3) == [0, 4, 1]
    assert len(schedule.sample(100)) == len(schedule)


def test_an_odd_number_of_matches_and_a_twice_named_opponent_are_refused() -> None:
    with pytest.raises(ConfigError, match="7 cannot be split over 2 sides"):
        Schedule.of(("a",), 7, seed=1)
    with pytest.raises(ConfigError, match="named once"):
        Schedule.of(("a", "a"), 2, seed=1)


def test_every_scheduled_match_counts_once(tmp_path: Path) -> None:
    against_random, against_itself = compete(tmp_path)
    for result in (against_random, against_itself):
        assert result.wins + result.losses + result.ties == result.matches == 20
        assert result.decisions > 0
        assert result.turns > 0
        assert result.interval[0] <= result.win_rate <= result.interval[1]
    assert against_random.opponent == "random"
    assert against_random.win_rate > 0.7
    assert against_itself.wins == 10, "the same seeds from both seats: what one seat wins the other loses"


def test_two_plays_of_one_seed_are_equal(tmp_path: Path) -> None:
    first = compete(tmp_path, opponents=("perfect",))
    assert compete(tmp_path, opponents=("perfect",)) == first


def test_a_game_with_one_seat_is_played_alone(tmp_path: Path) -> None:
    (result,) = compete(tmp_path, ToyOptions(game="identity"), opponents=(), matches=7)
    assert (result.opponent, result.matches, result.wins, result.score) == ("none", 7, 7, 1.0)
    assert result.reward == result.turns == 8  # a point for each right choice
    assert result.reward_interval == (8, 8)


def test_truncated_matches_are_counted_apart(tmp_path: Path) -> None:
    (result,) = compete(tmp_path, ToyOptions(game="nim", pile=30, truncate_after=2), opponents=("random",))
    assert result.truncated > 0
    assert result.wins + result.losses + result.ties == 20


def test_matches_lost_with_their_host_are_played_again(tmp_path: Path) -> None:
    marker = tmp_path / "crashed"
    options = FaultyOptions(game="nim", crash_after=10, fault_marker=str(marker))
    (result,) = compete(tmp_path, options, opponents=("perfect",), game=faulty)
    assert marker.exists()
    assert result.voided > 0
    assert result.matches == result.wins + result.losses + result.ties == 20


def test_matches_of_a_host_that_dies_every_time_are_played_by_the_other(tmp_path: Path) -> None:
    dying = replace(TOY, command=lambda options: first_host_dies())
    against_random, moved = compete(tmp_path, game=dying)
    assert (against_random.moved, moved.moved) == (10, 10)
    assert 0 < against_random.voided + moved.voided <= 8  # at most the four under way at each of two starts
    _, whole = compete(tmp_path)
    assert replace(moved, moved=0, voided=0, decisions=whole.decisions) == whole


def test_no_result_is_given_when_no_host_is_left(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no host is left to play on, 40 scheduled matches cannot be played"):
        compete(tmp_path, FaultyOptions(game="nim", crash_after=1), game=faulty)


def test_progress_is_told_after_each_match(tmp_path: Path) -> None:
    told: list[arena.Progress] = []
    arena.play(
        TOY,
        NIM,
        scripted,
        agent="perfect",
        opponents=("random",),
        matches=6,
        seed=1,
        log_dir=tmp_path,
        hosts=1,
        progress=told.append,
    )
    assert [progress.ended for progress in told] == [1, 2, 3, 4, 5, 6]
    assert {(progress.scheduled, progress.opponent) for progress in told} == {(6, "random")}


def test_no_result_is_given_when_time_runs_out(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"\d+ of 2000 matches ended within 0 s"):
        arena.play(
            TOY,
            ToyOptions(game="nim", slow_s=0.01),
            scripted,
            agent="perfect",
            opponents=("random",),
            matches=2000,
            seed=1,
            log_dir=tmp_path,
            hosts=1,
            deadline_s=0.2,
        )


class EnoughError(Exception):
    pass


def test_contest_can_be_left_while_no_match_ends(tmp_path: Path) -> None:
    def leave() -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        arena.play(
            TOY,
            ToyOptions(game="nim", slow_s=30.0),  # longer than the test waits
            scripted,
            agent="perfect",
            opponents=("random",),
            matches=2,
            seed=1,
            log_dir=tmp_path,
            hosts=1,
            tick=leave,
        )


def test_an_unknown_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no policy named nobody; there are perfect, random"):
        compete(tmp_path, opponents=("nobody",))


def test_a_game_with_another_number_of_seats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1 seats"):
        compete(tmp_path, ToyOptions(game="identity"), opponents=("random",))


def test_any_two_policies_can_meet(tmp_path: Path) -> None:
    class First:
        def act(self, arrivals: Arrivals) -> Choices:
            return Choices.scripted(arrivals.legal.argmax(1).astype(np.int32))

    (result,) = arena.play(
        TOY,
        NIM,
        {"a": First(), "b": First()},
        agent="a",
        opponents=("b",),
        matches=4,
        seed=1,
        log_dir=tmp_path,
        hosts=1,
    )
    assert result.wins == 2
