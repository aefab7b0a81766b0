"""Commands that games bring are commands of `ludus`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.errors import ConfigError
from ludus.games import registry

TOY = registry.load("toy")


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), terminal_width=100)
    assert result.exit_code == 0, result.output
    return result.output


def installed(monkeypatch: pytest.MonkeyPatch, game: registry.Game) -> None:
    monkeypatch.setattr(registry, "names", lambda: [game.name])
    monkeypatch.setattr(registry, "load", lambda name: game)


@pytest.mark.parametrize("command", [("play",), ("servers", "up"), ("servers", "status"), ("servers", "down")])
def test_commands_of_games_have_help_with_an_example(command: tuple[str, ...]) -> None:
    assert f"Example: ludus {' '.join(command)}" in run(*command, "--help")


def test_help_lists_commands_of_games_under_the_name_of_the_game() -> None:
    page = run("--help")
    assert "Commands of showdown" in page
    assert page.index("train") < page.index("Commands of showdown") < page.index("Run Pokemon Showdown")


def test_a_mistyped_command_of_a_game_is_suggested() -> None:
    result = CliRunner().invoke(app, ["serverz"])
    assert result.exit_code == 2
    assert "'servers'" in result.output


def test_other_commands_start_without_loading_games(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> registry.Game:
        raise AssertionError(f"{name} was loaded")

    monkeypatch.setattr(registry, "load", load)
    assert "Example: ludus train" in run("train", "--help")


def test_a_game_cannot_replace_a_command_of_ludus(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run("train", "--help")
    installed(monkeypatch, replace(TOY, commands={"train": "ludus.games.showdown.commands.play:play"}))
    run("--help")
    assert run("train", "--help") == before


@pytest.mark.parametrize(
    ("reference", "reason"), [("builtins:no_such", "toy names 'builtins:no_such'"), ("math:pi", "expected a function")]
)
def test_a_broken_command_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch, reference: str, reason: str) -> None:
    installed(monkeypatch, replace(TOY, commands={"solve": reference}))
    page = run("--help")
    assert "the commands of toy are left out" in page
    assert reason in page
    assert "train" in page


def test_a_game_that_cannot_be_loaded_leaves_the_commands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> registry.Game:
        raise ConfigError("game: 'toy' of a-package cannot be loaded")

    monkeypatch.setattr(registry, "load", load)
    page = run("--help")
    assert "the commands of toy are left out" in page
    assert "train" in page
