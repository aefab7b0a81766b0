from __future__ import annotations

from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.errors import ConfigError


def test_games_are_listed_with_options_opponents_and_presets() -> None:
    result = CliRunner().invoke(app, ["games"])
    assert result.exit_code == 0
    for words in (
        "showdown",
        "toy",
        "options.format",
        "gen1randombattle",
        "max_damage",
        "gen1-long",
        "one of full, raw",
    ):
        assert words in result.output


def test_one_game_can_be_asked_for() -> None:
    result = CliRunner().invoke(app, ["games", "toy"])
    assert "options.pile" in result.output
    assert "showdown" not in result.output


def test_what_a_game_does_not_have_is_left_out() -> None:
    alone = CliRunner().invoke(app, ["games", "gymnasium"]).output
    assert "presets" in alone
    assert "opponents" not in alone
    command = CliRunner().invoke(app, ["games", "command"]).output
    assert "opponents" in command
    assert "presets" not in command


def test_a_list_is_shown_as_it_would_be_written() -> None:
    page = CliRunner().invoke(app, ["games", "showdown-server"], terminal_width=140).output
    assert "[ws://127.0.0.1:8000/" in page


def test_an_unknown_game_is_refused_with_the_nearest() -> None:
    result = CliRunner().invoke(app, ["games", "shodown"])
    assert isinstance(result.exception, ConfigError)
    assert "did you mean showdown?" in str(result.exception)
