"""The agents that come with the games: each is loaded by its name and plays."""

from __future__ import annotations

from pathlib import Path

import pytest

import ludus
from ludus.errors import ConfigError
from ludus.games import agents
from ludus.games.agents import CARD
from ludus.games.showdown.install import Installation

AGENTS = sorted(agents.folders())


def test_some_come_with_ludus() -> None:
    assert "gen1-best" in AGENTS


@pytest.mark.parametrize("name", AGENTS)
def test_each_has_a_card_and_beats_random_play(showdown: Installation, name: str) -> None:
    card = (agents.folders()[name] / CARD).read_text()
    assert card.startswith(f"# {name}\n\n")
    assert "## What it cannot do" in card
    (score,) = ludus.evaluate(name, opponents=["random"], matches=40)
    assert score.wins >= 36


def test_it_is_an_opponent_by_its_name_and_as_the_best_of_its_game(showdown: Installation) -> None:
    scores = ludus.evaluate("gen1-best", opponents=["gen1-best", "best"], matches=8)
    assert [score.opponent for score in scores] == ["gen1-best", "best"]
    assert all(score.matches == 8 for score in scores)


def test_a_folder_of_the_user_comes_before_the_agent_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agents.path_of("gen1-best").is_absolute()
    (tmp_path / "gen1-best").mkdir()
    monkeypatch.chdir(tmp_path)
    assert agents.path_of("gen1-best") == Path("gen1-best")


def test_names_that_are_no_agents_stay_paths() -> None:
    for name in ("runs/gen1-20250101-1", "../gen1-best", "gen1-bset", ""):
        assert agents.path_of(name) == Path(name)


def test_a_game_without_an_agent_says_which_there_are() -> None:
    with pytest.raises(ConfigError, match="no agent for toy-nim comes with ludus; there are: gen1-best"):
        agents.best_for("toy-nim")
