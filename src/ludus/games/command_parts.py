"""Parts that the commands of ludus and of games share: the option `--set` and installing a game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ludus.games.registry import Game

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="options.NAME=VALUE",
        help="Override an option of the game. A file from another machine cannot name modules, programs or paths: "
        "give them here. May be repeated.",
        show_default=False,
    ),
]


def install(game: Game, options: Mapping[str, object] | msgspec.Struct, console: Console) -> None:
    """Install what the game's hosts need, with a progress bar if anything is missing. Raises SetupError."""
    if game.prepare is None:
        return
    own_options = options if isinstance(options, msgspec.Struct) else msgspec.convert(options, game.options)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    steps: set[str] = set()  # those that were reported
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(game.name, total=1.0, visible=False)

        def show(step: str, fraction: float) -> None:
            bar.update(task, completed=fraction, description=f"{game.name}: {step}", visible=True)
            if not console.is_terminal and step not in steps:
                console.print(f"{game.name}: {step}", highlight=False)
            steps.add(step)

        game.prepare(own_options, show)
    if steps:
        console.print(f"{game.name}: installed", highlight=False)
