"""Entry point of the game `command`, whose host is any program: `ludus train --game "command:node my_host.js"`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from ludus.errors import ConfigError
from ludus.games.command.options import CommandOptions
from ludus.games.registry import Game, Progress
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand

PYTHON = frozenset({"python", "python3"})  # these names mean the interpreter that runs ludus


def command(options: CommandOptions) -> HostCommand:
    """Return the command that starts the host. Raises ConfigError if there is no such program."""
    words = _words(options.command)
    folder = Path(options.folder).expanduser()
    if options.folder and not folder.is_dir():
        raise ConfigError(f"options.folder: {options.folder} is no folder")
    program = sys.executable if words[0] in PYTHON else _program(words[0], folder)
    folder_of_host = folder if options.folder else None
    return HostCommand((program, *words[1:]), options.env, folder_of_host, options.options, options.profile)


def prepare(options: CommandOptions, progress: Progress) -> None:
    """Check that the program exists, before a run starts. Installs nothing. Raises ConfigError."""
    command(options)


def _words(line: str | tuple[str, ...]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(line)) if isinstance(line, str) else line
    except ValueError as error:
        raise ConfigError(f"options.command: {line!r} cannot be split into words: {error}") from error
    if not words:
        raise ConfigError(
            "options.command: names no program; say which is the host, as in command: node my_host.js, or on the "
            "command line: --game 'command:node my_host.js'; for a run or a match of somebody else: "
            "--set 'options.command=node my_host.js'"
        )
    return words


def _program(name: str, folder: Path) -> str:
    """Return the absolute path of the program, searched from `folder`. Raises ConfigError if it cannot be run."""
    if os.sep not in name:
        program = shutil.which(name)
        if program is None:
            here = f"; if you mean the file in {folder.resolve()}, write ./{name}" if (folder / name).exists() else ""
            raise ConfigError(f"options.command: there is no program {name!r} on the PATH{here}")
        return program
    path = folder / Path(name).expanduser()
    if path.is_dir():
        raise ConfigError(f"options.command: {path} is a folder, expected a program")
    if not path.exists():
        raise ConfigError(f"options.command: there is no file {str(path)!r}")
    if not os.access(path, os.X_OK):
        raise ConfigError(
            f"options.command: {path} is not executable; run chmod +x on it, or name what runs it, as in: python {name}"
        )
    return str(path.absolute())


game = Game(
    name="command",
    summary="Any host program in any language: command:node my_host.js, command:java Host.java MyGame.java",
    options=CommandOptions,
    command=command,
    scripted={"random": RandomPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    local=frozenset({"command", "folder", "env", "profile"}),
    prepare=prepare,
)
