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
        help="Set an option of the game in place of the file's; for a file from elsewhere, the only way to name a "
        "module, a program or a path. May be given several times.",
        show_default=False,
    ),
]


def install(game: Game, options: Mapping[str, object] | msgspec.Struct, console: Console) -> None:
    """Bring what the game needs, under a progress bar if there is anything to do. Raises SetupError."""
    if game.prepare is None:
        return
    game_options = options if isinstance(options, msgspec.Struct) else msgspec.convert(options, game.options)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    steps: set[str] = set()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(game.name, total=1.0, visible=False)

        def show(stage: str, fraction: float) -> None:
            bar.update(task, completed=fraction, description=f"{game.name}: {stage}", visible=True)
            if not console.is_terminal and stage not in steps:
                console.print(f"{game.name}: {stage}", highlight=False)
            steps.add(stage)

        game.prepare(game_options, show)
    if steps:
        console.print(f"{game.name}: installed", highlight=False)
