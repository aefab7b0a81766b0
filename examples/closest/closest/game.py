"""The entry point: what ludus knows of the game before a host runs. It imports neither torch nor typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from closest import data
from closest.scripted import ExactPolicy, RandomPolicy
from ludus.games.registry import Game
from ludus.processes.command import HostCommand, python_host


class ClosestOptions(Struct, frozen=True, forbid_unknown_fields=True):
    numbers: Annotated[int, Meta(ge=2, le=10)] = 8  # players see and name a number from 0 to numbers - 1


def command(options: ClosestOptions) -> HostCommand:
    """Return the command that starts a host. ludus sends the options to it."""
    return python_host("closest.host")


game = Game(
    name="closest",
    summary="Both players see a number and name one; the closest wins",
    options=ClosestOptions,
    command=command,
    scripted={"random": RandomPolicy, "exact": ExactPolicy},
    net="table",
    nets={"table": "closest.net:TableNet"},
    presets=Path(__file__).parent / "presets",
    prepare=data.prepare,
    commands={"closest": "closest.commands:closest"},
    checks="closest.data:checks",
    table_lines="closest.hooks:table_lines",
    stable_log="closest.hooks:stable_log",
)
