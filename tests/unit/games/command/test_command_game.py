"""A host that is named by its command: what is started, and what is refused before anything is."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from ludus.config import load
from ludus.errors import ConfigError
from ludus.games import registry
from ludus.games.command.game import command
from ludus.games.command.options import CommandOptions


def test_a_line_and_a_list_of_words_mean_the_same() -> None:
    line = command(CommandOptions("sh -c 'exec cat' now", {"size": 3}))
    words = command(CommandOptions(("sh", "-c", "exec cat", "now"), {"size": 3}))
    assert line == words
    assert line.argv == (shutil.which("sh"), "-c", "exec cat", "now")
    assert line.options == {"size": 3}


def test_python_is_the_one_that_runs_ludus() -> None:
    assert command(CommandOptions("python -m my_game")).argv == (sys.executable, "-m", "my_game")


def test_a_program_is_found_from_the_folder_it_is_started_in(tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("#!/bin/sh\n")
    host.chmod(0o755)
    found = command(CommandOptions("./host --quick", folder=str(tmp_path), env={"LEVEL": "2"}))
    assert (found.argv, found.cwd, found.env) == ((str(host), "--quick"), tmp_path, {"LEVEL": "2"})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "names no program"),
        ((), "names no program"),
        ("node 'my host.js", "cannot be split into words"),
        ("no-such-program-anywhere x", "there is no program 'no-such-program-anywhere' on the PATH"),
        ("host.txt", "write ./host.txt"),
        ("./nothing", r"there is no file .*nothing"),
        ("./", "is a folder"),
        ("./host.txt", r"is not executable; run chmod \+x on it, or name what runs it, as in: python ./host.txt"),
    ],
)
def test_what_cannot_be_started_is_refused_in_words(tmp_path: Path, line: str | tuple[str, ...], words: str) -> None:
    (tmp_path / "host.txt").write_text("print('hello')")
    with pytest.raises(ConfigError, match=r"options\.command: " + f".*{words}"):
        command(CommandOptions(line, folder=str(tmp_path)))


def test_a_folder_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"options\.folder: .* is no folder"):
        command(CommandOptions("sh", folder=os.devnull))


def test_the_command_line_names_the_host_behind_a_colon() -> None:
    config = load.build({"game": "command:node my_host.js"}, options_of=lambda name: registry.load(name).options)
    assert (config.game, config.options["command"]) == ("command", "node my_host.js")


def test_saved_matches_name_no_program() -> None:
    assert {"command", "folder", "env"} <= registry.load("command").local
