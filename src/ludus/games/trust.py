"""Options that a file from another machine may set: one rule for checkpoints, run folders, saved matches and datasets.

A file may choose a game, a format and numbers. It never chooses what runs on this machine:
- numbers, true and false, words from a fixed list, and default values are accepted;
- text, lists and sections are accepted where the game says which values are harmless (`Game.portable`);
- everything else (modules, programs, paths, addresses) must come from this machine: from its command line
  (`--set options.NAME=VALUE`), or from a run with the same values that was started in the same folder before.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, inspect

from ludus import files
from ludus.errors import UntrustedError
from ludus.games.cache import home
from ludus.games.registry import Game

STARTED = "started.jsonl"  # in the cache folder: options that runs were started with on this machine
SHOWN = 80  # characters of a refused value
MOST_BYTES = 1 << 20  # of that file; past it, only the newest half of its lines is kept
_PLAIN = (inspect.BoolType, inspect.IntType, inspect.FloatType, inspect.NoneType, inspect.LiteralType)
_LOG = logging.getLogger("ludus.trust")


class Started(Struct, frozen=True):
    """Options that may name something to run, as one run on this machine was started with."""

    game: str
    folder: str  # modules and relative paths are found from here
    options: dict[str, Any]  # Any: the game's own


def accept(
    game: Game,
    options: Mapping[str, Any],  # Any: the game's own, as a file gives them
    origin: str,
    local: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the options of a file, overridden by those of this machine's command line (`local`).

    Raises UntrustedError, which names the file (`origin`) and the option, for an option that only this machine may set.
    """
    local = local or {}
    suspect = {
        name: value for name, value in options.items() if name not in local and not is_harmless(game, name, value)
    }
    if suspect and not _was_started(game, suspect):
        name = min(suspect)
        raise UntrustedError(
            f"{origin}: sets options.{name} to {_shortened(suspect[name])}, which may name something that is run; a "
            f"file may not choose that. If you know this value and trust it, give it yourself: --set options.{name}=..."
        )
    return {**options, **local}


def is_harmless(game: Game, name: str, value: object) -> bool:
    """Return whether any file may set this option of the game to this value. True for an option that the game does not
    have: the check of all options refuses it later."""
    info = inspect.type_info(game.options)
    assert isinstance(info, inspect.StructType)
    field = next((each for each in info.fields if each.encode_name == name), None)
    if field is None or _is_plain(field.type) or _plain_data(value) == _plain_data(_default(field)):
        return True
    check = game.portable.get(name)
    return check is not None and check(value)


def remember(game: Game, options: Mapping[str, Any]) -> None:  # Any: the game's own
    """Record that this machine's user starts the game with these options in the current folder. Later commands accept
    them from the files of that run. If the record cannot be written, they need `--set`."""
    local = {name: value for name, value in options.items() if not is_harmless(game, name, value)}
    if not local or _was_started(game, local):
        return
    path = home() / STARTED
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _shorten(path)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(msgspec.json.encode(Started(game.name, os.getcwd(), local)) + b"\n")
    except OSError as error:
        _LOG.warning("%s cannot be written (%s): later commands need --set for options of this run", path, error)


def _was_started(game: Game, options: Mapping[str, Any]) -> bool:
    """Return whether one run was started in this folder with all of these values."""
    plain_options, folder = _plain_data(options), os.getcwd()
    return any(
        entry.game == game.name
        and entry.folder == folder
        and all(name in entry.options and entry.options[name] == value for name, value in plain_options.items())
        for entry in _entries()
    )


def _entries() -> Iterator[Started]:
    try:
        lines = (home() / STARTED).read_bytes()[-2 * MOST_BYTES :].splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Started)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # a torn or damaged line


def _shorten(path: Path) -> None:
    """Keep the newest half of a file that has grown too long. Raises OSError."""
    if not path.exists() or path.stat().st_size <= MOST_BYTES:
        return
    lines = path.read_bytes().splitlines(keepends=True)
    with files.replacing(path, partial=path.with_name(f"{path.name}.{os.getpid()}.partial")) as partial:
        files.write(partial, b"".join(lines[len(lines) // 2 :]), mode=0o600)


def _is_plain(kind: inspect.Type) -> bool:
    """Return whether values of this type cannot name a program or a path: numbers, booleans, words of a fixed list, and
    lists of these."""
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return _is_plain(kind.item_type)
    if isinstance(kind, inspect.UnionType):
        return all(_is_plain(each) for each in kind.types)
    return isinstance(kind, _PLAIN)


def _default(field: inspect.Field) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _plain_data(value: object) -> Any:  # Any: whatever JSON makes of it
    """Return the value as it looks when read from a file: tuples become lists. A value that JSON cannot represent
    becomes an object that equals nothing."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, msgspec.MsgspecError):
        return object()


def _shortened(value: object) -> str:
    text = ascii(value)  # no control characters of a stranger on the terminal
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
