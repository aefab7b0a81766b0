"""Runs that choose their opponents: from past selves and from a league, resumed exactly, and with several actors."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from tests.running import Silent, Watch, assert_equal_runs, latest, small_run, train, with_updates

import ludus as ludus_api
from ludus.api import leagues
from ludus.config.settings import ActorsConfig, FleetConfig, LearnerConfig, OpponentsConfig, RunConfig
from ludus.errors import LeagueError
from ludus.evaluation.report import write
from ludus.league.opponent_log import OPPONENTS, OpponentLine
from ludus.metrics import names
from ludus.policies.checkpoints import checkpoint

LEARNER = LearnerConfig(decisions=256, minibatch=128, lr=3e-3, lr_schedule="constant")


def config(updates: int, *, mode: Literal["serial", "overlapped"] = "serial", **opponents: Any) -> RunConfig:
    settings = {"past": 0.3, "scripted": 0.2, "snapshot_every": 2, "pool": 3, "half_life": 4, **opponents}
    return small_run(
        updates,
        mode=mode,
        options={"game": "nim"},
        learner=LEARNER,
        opponents=msgspec.convert(settings, OpponentsConfig),
    )


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league of nim with two scripted members and two checkpoints of a run."""
    folder = tmp_path_factory.mktemp("league")
    train(config(4), folder / "run", observer=Silent())
    leagues.new(folder / "league", "toy", ["options.game=nim"])
    leagues.add(folder / "league", folder / "run", name="main@4")
    train(with_updates(config(4), 6), folder / "run", resume=True, observer=Silent())
    leagues.add(folder / "league", folder / "run", name="main@6")
    leagues.play(folder / "league", matches=4, hosts=1, seed=1)
    return folder / "league"


def lines(run_dir: Path) -> list[OpponentLine]:
    rows = (run_dir / OPPONENTS).read_bytes().splitlines()
    return [msgspec.json.decode(row, type=OpponentLine) for row in rows]


@pytest.mark.parametrize("choose", ["pfsp", "nash", "latest"])
@pytest.mark.parametrize("joins", [False, True], ids=["alone", "in a league"])
def test_a_run_that_chooses_opponents_goes_on_exactly(tmp_path: Path, league: Path, choose: str, joins: bool) -> None:
    given: dict[str, Any] = {"league": str(league), "league_share": 0.4} if joins else {}
    chosen = config(8, choose=choose, **given)
    whole = train(chosen, tmp_path / "whole", observer=Silent())
    train(with_updates(chosen, 3), tmp_path / "parts", observer=Silent())
    parts = train(chosen, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)
    first, second = (checkpoint.read_state(latest(run)) for run in (whole, parts))
    assert first.actor == second.actor
    assert first.opponents == second.opponents
    assert [line.opponents for line in lines(tmp_path / "whole")] == [
        line.opponents for line in lines(tmp_path / "parts")
    ]


def test_members_of_a_league_play_and_their_ratings_are_logged(tmp_path: Path, league: Path) -> None:
    chosen = config(12, league=str(league), league_share=0.5, choose="pfsp", league_members=["main@*"])
    train(chosen, tmp_path, observer=(watch := Watch()))
    met = {each.name: each for line in lines(tmp_path) for each in line.opponents}
    assert {name for name in met if name.startswith("league:")} == {"league:main@4", "league:main@6"}
    assert met["league:main@4"].rating is not None
    assert met["league:main@4"].matches > 0
    assert 0.3 < float(watch.numbers[names.OPPONENT_SHARE("league")]) < 0.7
    assert abs(float(watch.numbers[names.OPPONENT_ELO])) < 2000
    for line in lines(tmp_path):
        assert line.self_play + sum(each.share for each in line.opponents) == pytest.approx(1.0)


def test_a_new_member_plays_soon_and_a_vanished_one_no_more(
    tmp_path: Path, league: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = tmp_path / "league"
    shutil.copytree(league, own)
    shutil.rmtree(own / "members" / "main@6")
    chosen = config(4, league=str(own), league_share=0.8, past=0.0)
    train(chosen, tmp_path / "run", observer=Silent())
    shutil.copytree(league / "members" / "main@6", own / "members" / "main@6")
    (own / "members" / "main@4" / "model.safetensors").unlink()
    with caplog.at_level(logging.WARNING):
        train(with_updates(chosen, 24), tmp_path / "run", resume=True, observer=Silent())
    met = {each.name for each in lines(tmp_path / "run")[-1].opponents if each.share}
    assert "league:main@6" in met
    assert "league:main@4" not in met
    assert "main@4" in caplog.text


def test_a_league_of_another_game_is_refused(tmp_path: Path, league: Path) -> None:
    other = msgspec.structs.replace(config(2, league=str(league), league_share=0.5), options={"game": "rps"})
    with pytest.raises(LeagueError, match=r"opponents.league: .* plays game .*, this run"):
        train(other, tmp_path, observer=Silent())


def test_a_strong_learner_adds_snapshots_before_they_are_due(tmp_path: Path) -> None:
    usual = config(30, past=0.9, scripted=0.0, snapshot_every=10, pool=30)
    train(usual, tmp_path / "usual", observer=Silent())
    assert sorted(path.name for path in (tmp_path / "usual" / "pool").glob("v*")) == [
        f"v{version:08d}.safetensors" for version in (10, 20, 30)
    ]
    opponents = msgspec.structs.replace(usual.opponents, snapshot_win_rate=0.5)
    eager = msgspec.structs.replace(usual, opponents=opponents)
    train(eager, tmp_path / "eager", observer=Silent())
    assert len(list((tmp_path / "eager" / "pool").glob("v*"))) > 4


def test_two_actors_share_what_they_know_and_go_on_after_a_resume(tmp_path: Path, league: Path) -> None:
    chosen = msgspec.structs.replace(
        config(12, mode="overlapped", choose="pfsp", league=str(league), league_share=0.4),
        actors=ActorsConfig(count=2),
        fleet=FleetConfig(hosts=2, matches=8),
    )
    train(chosen, tmp_path, observer=Silent())
    again = train(with_updates(chosen, 24), tmp_path, resume=True, observer=Silent())
    state = checkpoint.read_state(latest(again))
    actors = [state.actor, *state.other_actors]
    assert len(actors) == 2
    for actor, other in zip(actors, reversed(actors), strict=True):
        assert actor is not None
        assert other is not None
        heard, own = actor["matchmaker"]["news"]["others"], other["matchmaker"]["records"]
        shared = heard.keys() & own.keys()
        assert shared
        assert all(heard[name]["matches"] > 0 for name in shared)  # older than `own`, which may have decayed since
    assert sum(each.matches for each in lines(tmp_path)[-1].opponents) > 0


def test_the_report_shows_whom_the_learner_met(tmp_path: Path) -> None:
    ludus_api.train(config(4, past=0.5, scripted=0.3), run_dir=tmp_path, progress=False)
    report = (tmp_path / "report.md").read_text()
    assert "## Opponents in training" in report
    assert "| scripted:perfect |" in report


def test_the_report_shows_the_league_of_the_run(tmp_path: Path, league: Path) -> None:
    own = tmp_path / "cup"
    shutil.copytree(league, own)
    chosen = config(4, league=str(own), league_share=0.5)
    ludus_api.train(chosen, run_dir=tmp_path / "run", progress=False)
    report = (tmp_path / "run" / "report.md").read_text()
    assert "\n## League cup\n" in report
    assert "| main@6 |" in report
    assert "scripted:perfect is rated 1000 by definition" in report
    for picture in ("league_payoff.png", "league_training.png"):
        assert f"({picture})" in report
        assert (tmp_path / "run" / picture).read_bytes().startswith(b"\x89PNG")
    (own / "league.json").unlink()
    write(tmp_path / "run", chosen, "ludus train")
    assert "The league cannot be shown: " in (tmp_path / "run" / "report.md").read_text()
