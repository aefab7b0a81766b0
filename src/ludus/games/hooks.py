"""The hooks of a game, imported when they are used: commands, checks, lines of the live table, comparable logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ludus.games.checks import Finding
from ludus.games.registry import Game, attribute_of
from ludus.metrics.observer import Numbers

Checks = Callable[[], Iterable[Finding]]
TableLines = Callable[[Numbers], Sequence[tuple[str, str]]]  # label, value
StableLog = Callable[[str], str]


def command_of(game: Game, name: str) -> Any:  # Any: a function with typer's annotations, or a typer.Typer
    """Import a command of the game. Raises ConfigError if there is no such object."""
    return attribute_of(game, game.commands[name], f"its command {name!r}")


def findings_of(game: Game) -> list[Finding]:
    """Run the checks of a game. Checks that cannot be imported or that fail become a finding themselves: other findings
    must still be shown."""
    if not game.checks:
        return []
    try:
        checks: Checks = attribute_of(game, game.checks, "its checks")
        return list(checks())
    except Exception as error:  # whatever the game's own code raises
        detail = f"its checks failed: {type(error).__name__}: {error}"
        return [Finding(game.name, "missing", detail, f"repair or uninstall the package of {game.name}")]


def table_lines_of(game: Game) -> TableLines:
    """Return the function that adds lines to the live table. It adds none if the game has no such hook."""
    if not game.table_lines:
        return lambda numbers: ()
    lines: TableLines = attribute_of(game, game.table_lines, "the lines of its live table")
    return lines


def stable_log_of(game: Game) -> StableLog:
    """Return the function that removes from a log what differs between a match and its replay, such as the time of day.
    It returns the log unchanged if the game has no such hook."""
    if not game.stable_log:
        return lambda log: log
    stable: StableLog = attribute_of(game, game.stable_log, "the function that makes its logs comparable")
    return stable
