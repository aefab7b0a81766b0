"""Scripted policies against each other on the real Showdown host, and matches saved there and replayed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ludus.errors import ReplayError
from ludus.evaluation import arena
from ludus.evaluation.replay import replay
from ludus.games import registry
from ludus.games.showdown.game import ShowdownOptions
from ludus.games.showdown.scripted import POLICIES

TEAMS = Path(__file__).parents[1] / "data" / "teams"
GAME = registry.load("showdown")
pytestmark = pytest.mark.usefixtures("showdown")


def compete(
    options: ShowdownOptions,
    agent: str,
    opponents: tuple[str, ...],
    matches: int,
    log_dir: Path,
    save: Path | None = None,
) -> list[arena.MatchupResult]:
    return arena.play(
        GAME,
        options,
        lambda spec: {name: make(spec, 1) for name, make in POLICIES.items()},
        agent=agent,
        opponents=opponents,
        matches=matches,
        seed=11,
        log_dir=log_dir,
        hosts=1,
        deadline_s=150.0,
        save_replays=save,
    )


@pytest.mark.parametrize(
    ("battle", "feature_set"),
    [("gen1randombattle", "raw"), ("gen9randombattle", "full"), ("gen9randomdoublesbattle", "raw")],
)
def test_heuristic_beats_random_and_every_match_is_played_out(battle: str, feature_set: str, tmp_path: Path) -> None:
    options = ShowdownOptions(format=battle, feature_set=feature_set)  # type: ignore[arg-type]  # one of two, above
    results = compete(options, "heuristic", ("random", "max_power", "max_damage"), 6, tmp_path)
    for result in results:
        assert result.wins + result.losses + result.ties == result.matches == 6
        assert (result.truncated, result.voided) == (0, 0)
        assert result.turns > 1
        assert result.decisions > 6
    assert results[0].wins >= 5


@pytest.mark.parametrize(
    "battle",
    [
        pytest.param(f"gen{gen}randombattle", marks=() if gen in (2, 4, 7, 8) else pytest.mark.slow)
        for gen in range(2, 9)
    ],
)
def test_every_generation_is_understood(battle: str, tmp_path: Path) -> None:
    results = compete(ShowdownOptions(format=battle), "heuristic", ("max_power", "max_damage"), 2, tmp_path)
    assert [(result.matches, result.voided) for result in results] == [(2, 0), (2, 0)]


@pytest.mark.parametrize(("battle", "teams"), [("gen9ou", "gen9ou"), ("gen9vgc2025regi", "gen9vgc2025regi")])
def test_team_preview_is_answered(battle: str, teams: str, tmp_path: Path) -> None:
    options = ShowdownOptions(format=battle, teams=str(TEAMS / teams))
    results = compete(options, "heuristic", ("random", "max_power", "max_damage"), 2, tmp_path)
    assert [(result.matches, result.voided) for result in results] == [(2, 0)] * 3


def test_the_same_schedule_gives_the_same_results(tmp_path: Path) -> None:
    options = ShowdownOptions(feature_set="raw")
    first, again = (compete(options, "max_power", ("random",), 4, tmp_path / name) for name in ("first", "again"))
    assert first == again


def test_a_saved_battle_ends_the_same_and_a_changed_one_is_found_out(tmp_path: Path) -> None:
    options = ShowdownOptions(format="gen9randombattle", feature_set="raw")
    compete(options, "heuristic", ("max_damage",), 2, tmp_path, tmp_path / "replays")
    path, other = sorted((tmp_path / "replays").iterdir())
    result = replay(path, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert result.match.turns > 1
    assert "|win|Player" in result.log
    assert "<h2>Turn 1</h2>" in page
    assert '<script type="text/plain" class="battle-log-data">' in page
    assert "node" not in result.match.options

    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"score": content["score"][::-1]}))
    with pytest.raises(ReplayError, match="score"):
        replay(path)
    content = json.loads(other.read_text())
    other.write_text(json.dumps(content | {"seed": content["seed"] + 1}))
    with pytest.raises(ReplayError, match=r"recorded|legal"):
        replay(other)


@pytest.mark.slow
def test_the_page_shows_the_battle_in_a_browser_without_the_internet(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    assert browser is not None, "this test needs chromium (apt-get install chromium)"
    compete(ShowdownOptions(feature_set="raw"), "heuristic", ("max_power",), 2, tmp_path, tmp_path / "replays")
    replay(next((tmp_path / "replays").iterdir()), tmp_path / "page.html")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"
    shown = subprocess.run(
        [browser, *flags, offline, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    assert "<h2>Turn 1</h2>" in shown
    assert "Player 1 won" in shown or "Player 2 won" in shown or "A tie" in shown
