"""A league of a game with four teams, in which every player plays against all others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import small_run

import ludus as ludus_api
from ludus.api import comparing, exploiting, leagues
from ludus.config.settings import EvaluationConfig, LearnerConfig, OpponentsConfig
from ludus.errors import LeagueError
from ludus.league import opponent_log, results
from ludus.league.members import League

OPTIONS = ["options.game=rps", "options.seats=4", "options.rounds=3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the game that plays against members of a league, too."""
    place = tmp_path_factory.mktemp("four")
    leagues.new(place / "first", "toy", OPTIONS)
    leagues.play(place / "first", matches=8, hosts=1, seed=1)
    config = small_run(
        6,
        options={"game": "rps", "seats": 4, "rounds": 3},
        learner=LearnerConfig(decisions=512, minibatch=128, lr=3e-3),
        evaluation=EvaluationConfig(matches=40, quick_matches=20, every_updates=3),
        opponents=OpponentsConfig(
            past=0.2, scripted=0.0, league=str(place / "first"), league_share=0.4, choose="nash", snapshot_every=2
        ),
    )
    ludus_api.train(config, run_dir=place / "run", progress=False)
    return place / "run"


@pytest.fixture
def league(tmp_path: Path) -> Path:
    leagues.new(tmp_path / "league", "toy", OPTIONS)
    return tmp_path / "league"


def test_members_of_a_game_with_four_teams_are_rated_from_one_log(run: Path, league: Path) -> None:
    (member,) = leagues.add(league, run)
    result = leagues.play(league, matches=24, hosts=1, seed=1)
    log = results.read(league)
    assert log.records == []
    assert len(log.ranked) == result.played.matches == result.table.matches
    assert all(len(match.players) == 4 for match in log.ranked)
    by_name = {line.name: line for line in result.table.lines}
    assert by_name.keys() == {member.name, "scripted:random", "scripted:perfect"}
    assert result.table.lines[-1].name == "scripted:random"
    assert by_name["scripted:perfect"].elo == 1000
    assert by_name["scripted:random"].high < 1000
    assert by_name["scripted:random"].worst_share < 0.3
    for name, line in by_name.items():
        assert line.matches == sum(name in match.players for match in log.ranked)


def test_each_member_plays_every_team_of_a_seed_once(league: Path) -> None:
    leagues.play(league, matches=8, hosts=1)
    seats: dict[int, list[tuple[str, ...]]] = {}
    for match in results.read(league).ranked:
        seats.setdefault(match.seed, []).append(match.players)
    for players in seats.values():
        assert len(players) == 4
        turns = {tuple(players[0][(team + turn) % 4] for team in range(4)) for turn in range(4)}
        assert set(players) == turns


def test_ranks_are_settled_a_swiss_tournament_ends_and_the_page_is_made(run: Path, league: Path) -> None:
    leagues.add(league, run)
    swiss = leagues.play(league, system="swiss", matches=4, hosts=1)
    assert swiss.played.matches > 0
    result = leagues.play(league, until_settled=True, hosts=1, limit=3000)
    assert result.settled
    assert leagues.write_replays(league) == []
    table, paths = leagues.write(league, page=True)
    assert {path.name for path in paths} >= {"standings.md", "payoff.png", "league.html"}
    assert f"{table.matches:,} matches" in paths[-1].read_text()


def test_a_run_of_four_teams_meets_members_of_a_league(run: Path) -> None:
    line = opponent_log.latest(run / opponent_log.OPPONENTS)
    assert line is not None
    assert any(each.name.startswith("league:scripted:") and each.rating for each in line.opponents)


def test_commands_that_need_two_teams_say_so(run: Path, league: Path, tmp_path: Path) -> None:
    with pytest.raises(LeagueError, match="4 teams; this needs a game with two"):
        comparing.compare("scripted:perfect", "scripted:random", league=league, hosts=1)
    with pytest.raises(LeagueError, match="4 teams; this needs a game with two"):
        exploiting.exploit(run, minutes=0.1, folder=tmp_path / "exploit")
    assert League.open(league).members()
