"""Parts that the commands of ludus and of games share: the option `--set` and installing a game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ludus.games.registry import Game
from ludus.games.registry import Progress as ProgressOf

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
    reported: set[str] = set()
    with steps(game.name, console) as show:

        def note(step: str, fraction: float) -> None:
            reported.add(step)
            show(step, fraction)

        game.prepare(own_options, note)
    if reported:
        console.print(f"{game.name}: installed", highlight=False)


@contextmanager
def steps(title: str, console: Console) -> Iterator[ProgressOf]:
    """Show the steps of a long task in one progress bar, or one line for each where the output is no terminal.

    Yields a function that takes the name of the current step and the share that is done. What follows a colon in the
    name is a detail, which is shown in the bar only.
    """
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    names: set[str] = set()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0, visible=False)

        def show(step: str, fraction: float) -> None:
            bar.update(task, completed=fraction, description=f"{title}: {step}", visible=True)
            name = step.partition(":")[0]
            if not console.is_terminal and name not in names:
                console.print(f"{title}: {name}", highlight=False)
            names.add(name)

        yield show
