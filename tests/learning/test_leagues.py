"""Leagues of agents that real runs have trained, from Python and from the command line."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from tests.commands import interrupted
from tests.running import small_run
from tests.serving import save_checkpoint, served
from typer.testing import CliRunner, Result

import ludus as ludus_api
from ludus.api import comparing, leagues
from ludus.cli import main
from ludus.config.settings import CheckpointConfig, EvaluationConfig, LearnerConfig
from ludus.errors import CheckpointError, ConfigError, LudusError, UntrustedError
from ludus.evaluation import best_matches
from ludus.league import results
from ludus.league.members import League
from ludus.league.results import MatchRecord, ResultsWriter
from ludus.metrics.exporters import evaluations


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nim with two evaluations."""
    config = small_run(
        6,
        options={"game": "nim"},
        learner=LearnerConfig(decisions=512, minibatch=128, lr=3e-3),
        evaluation=EvaluationConfig(matches=40, quick_matches=20, every_updates=3),
        checkpoint=CheckpointConfig(keep=3),
    )
    folder = tmp_path_factory.mktemp("trained") / "run"
    ludus_api.train(config, run_dir=folder, progress=False)
    return folder


@pytest.fixture
def league(tmp_path: Path) -> Path:
    leagues.new(tmp_path / "league", "toy", ["options.game=nim"])
    return tmp_path / "league"


def test_a_run_rates_itself_in_its_history_its_report_and_a_picture(run: Path) -> None:
    history = evaluations.read(run / "evaluations.jsonl")
    assert [each.final for each in history] == [False, True]
    for each in history:
        assert each.elo is not None
        assert each.elo_interval is not None
        assert each.elo_interval[0] < each.elo < each.elo_interval[1]
    report = (run / "report.md").read_text()
    elo = re.search(r"\| this run \| (\d+) \|", report)
    assert elo is not None
    assert int(elo[1]) == round(history[-1].elo or 0)
    assert (run / "rating_curve.png").stat().st_size > 1000
    assert "rating/elo" in (run / "progress.csv").read_text().splitlines()[0]


def test_agents_of_a_run_are_rated_against_scripted_ones(run: Path, league: Path) -> None:
    (member,) = leagues.add(league, run)
    assert member.name == "run@u00000006"
    result = leagues.play(league, matches=20, hosts=1, seed=1)
    assert (result.played.matches, result.interrupted) == (60, False)
    assert {line.name for line in result.table.lines} == {member.name, "scripted:random", "scripted:perfect"}
    assert [line.matches for line in result.table.lines] == [40, 40, 40]
    assert result.table.ratings.anchor == "scripted:perfect"
    again = leagues.play(league, members=[member.name, "scripted:random"], matches=4, hosts=1)
    assert again.played.matches == 4
    assert int(again.table.payoff.matches.sum()) == 64
    for left_over in (league / "results").iterdir():
        assert left_over.read_bytes().endswith(b"\n")


def test_a_run_can_be_named_by_the_current_folder(run: Path, league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    assert [member.name for member in leagues.add(league, ".")] == ["run@u00000006"]


def test_all_checkpoints_of_a_run_can_join_with_parents(run: Path, league: Path) -> None:
    names = [member.name for member in leagues.add(league, run, every=True)]
    assert names == sorted(path.name.replace("u", "run@u") for path in (run / "checkpoints").glob("u*"))
    (child,) = leagues.add(league, run, name="child", parents=[names[0]])
    assert child.parents == (names[0],)


def test_ranks_are_played_until_they_are_settled(league: Path) -> None:
    result = leagues.play(league, until_settled=True, hosts=1, limit=4000)
    assert result.settled
    assert result.table.lines[0].name == "scripted:perfect"
    assert result.table.lines[0].better_than_next > 0.95
    assert result.played.matches < 500
    assert leagues.play(league, until_settled=True, hosts=1).played.matches == 0


def test_a_gauntlet_and_a_swiss_tournament(run: Path, league: Path) -> None:
    (member,) = leagues.add(league, run)
    gauntlet = leagues.play(league, system="gauntlet", challengers=[member.name], matches=4, hosts=1)
    assert gauntlet.played.matches == 8
    swiss = leagues.play(league, system="swiss", matches=4, hosts=1)
    assert swiss.played.rounds > 1
    assert swiss.played.matches == 4 * swiss.played.rounds, "one of three pauses in each round"
    with pytest.raises(ConfigError, match="--challengers"):
        leagues.play(league, system="gauntlet", hosts=1)


def test_a_checkpoint_that_vanished_costs_only_its_own_matches(run: Path, league: Path) -> None:
    (member,) = leagues.add(league, run)
    (league / "members" / member.name / "model.safetensors").unlink()
    result = leagues.play(league, matches=4, hosts=1)
    assert result.played.matches == 4
    assert "model.safetensors" in result.played.failures[member.name]
    with pytest.raises(CheckpointError, match="does not exist"):
        leagues.add(league, run.parent / "nowhere")


def test_two_tournaments_at_once_and_a_member_that_joins_meanwhile_lose_nothing(run: Path, league: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        games = [pool.submit(leagues.play, league, matches=40, hosts=1) for _ in range(2)]
        joining = pool.submit(leagues.add, league, run)
        joining.result(60)
        table = leagues.table_of(League.open(league))
        assert table.results.trouble == ""
        played = sum(game.result(120).played.matches for game in games)
    log = results.read(league)
    assert len(log.records) == played
    assert (log.cut, log.damaged) == (0, 0)
    assert "run@u00000006" in League.open(league).members()


def test_a_league_from_elsewhere_cannot_name_what_runs_here(league: Path) -> None:
    note = json.loads((league / "league.json").read_text())
    note |= {"game": "command", "options": {"command": ["touch", "pwned"]}}
    (league / "league.json").write_text(json.dumps(note))
    with pytest.raises(UntrustedError):
        leagues.play(league, hosts=1)


def test_compare_says_better_not_better_or_how_many_matches_are_missing(run: Path, league: Path) -> None:
    better = comparing.compare("scripted:perfect", "scripted:random", elo=(0, 50), league=league, hosts=1)
    assert better.comparison.outcome == "better"
    worse = comparing.compare("scripted:random", "scripted:perfect", elo=(0, 50), league=league, hosts=1)
    assert worse.comparison.outcome == "not better"
    assert worse.played.matches == 0, "the earlier matches of the league answer it"
    assert better.comparison.elo == pytest.approx(-worse.comparison.elo)
    unknown = comparing.compare(run, "scripted:perfect", elo=(0, 1), limit=40, hosts=1)
    assert unknown.comparison.outcome == "undecided"
    assert unknown.comparison.matches == 40
    assert unknown.comparison.more_matches > 100
    with pytest.raises(ConfigError, match="with itself"):
        comparing.compare(run, run)
    with pytest.raises(ConfigError, match="do not say which game"):
        comparing.compare("scripted:perfect", "scripted:random")
    with pytest.raises(ConfigError, match="no scripted policy 'nobody'"):
        comparing.compare(run, "scripted:nobody")


class Page(HTMLParser):
    """Collects what a page loads and links to, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.places: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.places += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_one_offline_file_that_shows_strange_names_as_text(
    run: Path, league: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of members are restricted, but the folder and the runs that members come from are not."""
    monkeypatch.setattr(best_matches, "KEPT", 1)
    strange = league.with_name("<script>alert(1)")
    shutil.move(league, strange)
    (member,) = leagues.add(strange, run)
    note = strange / "members" / member.name / "member.json"
    evil = msgspec.structs.replace(member, origin="<img src=x onerror=alert(2)>")
    (note.parent / "checksums.json").unlink()
    note.write_bytes(msgspec.json.encode(evil))
    leagues.play(strange, matches=10, hosts=1)
    assert leagues.write_replays(strange) == []
    _, paths = leagues.write(strange, page=True)
    source = paths[-1].read_text()
    page = Page()
    page.feed(source)
    assert not {"script", "iframe", "object", "link"} & page.tags
    assert "<img src=x" not in source
    assert "<script>alert(1)" in page.text
    for place in page.places:
        assert place.startswith("data:image/png;base64,") or (strange / place).exists()
    assert any(place.endswith(".html") for place in page.places), "best matches link to their replays"


def test_the_page_of_an_empty_league_can_be_made(league: Path) -> None:
    table, paths = leagues.write(league, page=True)
    assert [path.name for path in paths] == ["standings.md", "standings.csv", "payoff.png", "league.html"]
    assert [line.matches for line in table.lines] == [0, 0]


def test_derived_files_follow_from_the_log_alone(league: Path) -> None:
    with ResultsWriter(league) as writer:
        for seed in range(40):
            writer.add(MatchRecord("scripted:perfect", "scripted:random", seed, float(seed % 4 > 0)))
            writer.add(MatchRecord("scripted:random", "scripted:perfect", seed, float(seed % 4 == 0)))
    _, paths = leagues.write(league)
    before = {path.name: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    _, paths = leagues.write(league)
    assert {path.name: path.read_bytes() for path in paths} == before
    lines = (league / "standings.csv").read_text().splitlines()
    assert lines[0].startswith("rank,name,elo,low,high,matches,share")
    assert lines[1].split(",")[1] == "scripted:perfect"


def run_command(*words: str) -> Result:
    """Run a command in this process: a new one takes seconds to start."""
    return CliRunner().invoke(main.app, list(words))


def test_ratings_by_side_are_shown_where_sides_differ(league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    heads = ("first side", "second side")
    with ResultsWriter(league) as writer:
        for seed in range(20):
            writer.add(MatchRecord("scripted:perfect", "scripted:random", seed, float(seed % 2)))
            writer.add(MatchRecord("scripted:random", "scripted:perfect", seed, float(seed % 2)))
        _, paths = leagues.write(league, page=True)
        shown = run_command("league", "standings", str(league)).output
        assert not any(head in text for head in heads for text in (paths[-1].read_text(), paths[0].read_text(), shown))
        for seed in range(100, 160):
            writer.add(MatchRecord("scripted:perfect", "scripted:random", seed, 1.0))
            writer.add(MatchRecord("scripted:random", "scripted:perfect", seed, 1.0))
    _, paths = leagues.write(league, page=True)
    shown = run_command("league", "standings", str(league)).output
    assert all(head in text for head in heads for text in (paths[-1].read_text(), paths[0].read_text(), shown))


def test_the_commands_make_a_league_add_play_and_show_it(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run_command("league", "new", "league", "--game", "toy", "--set", "options.game=nim")
    assert "2 members: scripted:perfect, scripted:random" in made.output
    added = run_command("league", "add", "league", str(run), "--name", "mine")
    assert "mine is a member of league" in added.output
    played = run_command("league", "play", "league", "--matches", "10", "--hosts", "1")
    assert played.exit_code == 0, played.output
    assert re.search(r"1\s+\S+\s+\d+\s+-?\d+ to \d+\s+20", played.output)
    page = json.loads(run_command("league", "standings", "league", "--json").output)
    assert {line["name"] for line in page["standings"]} == {"mine", "scripted:random", "scripted:perfect"}
    assert run_command("league", "page", "league", "--no-replays").output.strip().endswith("league.html")
    compared = run_command("compare", "mine", "scripted:random", "--elo", "0", "100", "--league", "league")
    assert re.search(r"(Better|Not better|Cannot tell yet): ", compared.output), compared.output


def test_wrong_arguments_are_answered_in_one_line(league: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(league.parent)
    for words, answer in (
        (("league", "new", "league", "--game", "toy"), "is a league already"),
        (("league", "play", "nowhere"), "is no league"),
        (("league", "play", "league", "--members", "scripted:perfct,x"), "no member 'scripted:perfct'"),
        (("league", "play", "league", "--members", "scripted:perfect"), "1 members to play"),
        (("league", "add", "league", "http://127.0.0.1:9/x"), "no members of kind http"),
        (("league", "add", "league", "tcp://192.0.2.1:9/x"), "not on this machine"),
        (("league", "add", "league", "nowhere"), "does not exist"),
        (("league", "play", "league", "--system", "ladder"), "expected round-robin, gauntlet, swiss"),
        (("league", "new", "other", "--game", "toy", "--set", "options.game=identity"), "one team"),
        (("compare", str(run), "scripted:random", "--elo", "10", "0"), "the first bound must be below"),
    ):
        error = run_command(*words).exception
        assert isinstance(error, LudusError), words
        assert answer in str(error)


def test_ctrl_c_keeps_every_match_that_was_played(league: Path) -> None:
    words = ("league", "play", "league", "--matches", "200000", "--hosts", "1")
    code, said = interrupted(league.parent, lambda line: " of 200,000 matches: scripted:" in line, *words)
    assert code == 0
    stopped = re.search(r"Stopped\. The ([\d,]+) matches", said)
    assert stopped is not None, said
    log = results.read(league)
    assert 0 < len(log.records) == int(stopped[1].replace(",", ""))
    assert log.trouble == ""


def test_a_policy_on_a_server_plays_until_its_weights_change(league: Path, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "champion", 1)
    with served(tmp_path / "champion") as server:
        address = f"{server.address}/champion"
        (member,) = leagues.add(league, address)
        assert (member.name, member.kind, member.version) == ("champion", "server", 1)
        result = leagues.play(league, members=["champion", "scripted:random"], matches=10, hosts=1, seed=1)
        assert (result.played.matches, result.played.failures) == (10, {})
    path = league / "members" / "champion" / "member.json"
    changed = msgspec.structs.replace(member, version=7)
    with served(tmp_path / "champion") as server:
        changed = msgspec.structs.replace(changed, origin=f"{server.address}/champion")
        path.write_bytes(msgspec.json.encode(changed))
        (path.parent / "checksums.json").unlink()
        again = leagues.play(league, members=["champion", "scripted:random"], matches=10, hosts=1, seed=2)
    assert again.played.matches == 0
    assert again.played.forfeits == {}
    assert "now serves version 1, champion is version 7" in again.played.failures["champion"]


def test_a_policy_on_a_server_is_compared_with_a_scripted_one(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "champion", 1)
    with served(tmp_path / "champion") as server:
        address = f"{server.address}/champion"
        result = comparing.compare("scripted:perfect", address, elo=(0, 50), limit=400, hosts=1, seed=1)
        assert result.comparison.outcome == "better"
        assert result.played.failures == {}
    with pytest.raises(LudusError, match="tcp://"):
        comparing.compare("scripted:perfect", address, hosts=1)
