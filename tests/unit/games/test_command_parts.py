from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from ludus.errors import SetupError
from ludus.games import catalogue, command_parts
from ludus.games.registry import Game, Progress
from ludus.processes.command import HostCommand


class Options(msgspec.Struct, frozen=True):
    broken: bool = False


def fetch(options: Options, progress: Progress) -> None:
    for fraction in (0.0, 0.5, 0.9):
        progress("installing", fraction)
    if options.broken:
        raise SetupError("the disk is full")
    progress("finishing", 1.0)


def game(*, installs: bool) -> Game:
    return Game(
        name="chess",
        summary="",
        options=Options,
        command=lambda options: HostCommand(("true",), {}),
        scripted={},
        net="mlp",
        presets=Path("none"),
        prepare=fetch if installs else lambda options, progress: None,
    )


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)


def test_without_a_terminal_each_stage_is_one_line() -> None:
    plain = console(terminal=False)
    with plain.capture() as said:
        command_parts.install(game(installs=True), {}, plain)
    assert said.get().splitlines() == ["chess: installing", "chess: finishing", "chess: installed"]


def test_on_a_terminal_there_is_a_bar_that_goes_away() -> None:
    rich = console(terminal=True)
    with rich.capture() as said:
        command_parts.install(game(installs=True), Options(), rich)
    assert "100%" in said.get()
    assert said.get().endswith("chess: installed\n")


@pytest.mark.parametrize("terminal", [True, False])
def test_when_nothing_is_missing_nothing_is_said(terminal: bool) -> None:
    quiet = console(terminal=terminal)
    with quiet.capture() as said:
        command_parts.install(game(installs=False), {}, quiet)
    assert "chess" not in said.get()


def test_what_cannot_be_installed_is_raised() -> None:
    with pytest.raises(SetupError, match="the disk is full"):
        command_parts.install(game(installs=True), {"broken": True}, console(terminal=False))


def test_presets_of_all_games_are_known_by_name() -> None:
    presets = catalogue.presets()
    assert presets["gen1"].name == "gen1.yaml"
    assert presets["toy/nim"] == presets["nim"]
