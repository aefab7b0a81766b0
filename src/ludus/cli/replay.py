"""`ludus replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.config import places
from ludus.config.overrides import given_options
from ludus.games import command_parts


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A saved match, as `ludus eval --save-replays` writes them.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.html", help="Where to write the page. Default: beside the file.", show_default=False
        ),
    ] = None,
    deadline_s: Annotated[float, typer.Option(min=1.0, help="Seconds after which the match is given up.")] = 120.0,
    sets: command_parts.Sets = None,
) -> None:
    """Play a saved match again from its seed and choices, check that it ends the same, and write a page that shows it.

    Example: [bold]ludus replay runs/gen1-20250101-1/replays/000000-agent-heuristic.ludus.json[/bold]
    """
    if out is not None:
        places.check_file(out, "--out")
    from rich.console import Console

    from ludus.evaluation import recording
    from ludus.evaluation.replay import options_of
    from ludus.evaluation.replay import replay as play_again
    from ludus.games import registry

    console = Console()
    match = recording.read(file)
    game = registry.load(match.game)
    local = given_options(sets or ())
    command_parts.install(game, options_of(match, game, file, local), console)
    page = out or file.with_name(file.name.removesuffix(recording.SUFFIX) + ".html")
    result = play_again(file, page, deadline_s=deadline_s, local=local)
    score = ", ".join(f"{who} {points:g}" for who, points in zip(match.policies, match.score, strict=True))
    turns = f" after {match.turns:g} turns" if match.turns else ""
    console.print(f"It ends as recorded{turns}: {score}", highlight=False, soft_wrap=True)
    console.print(f"Watch it in a browser: {result.page}", highlight=False, soft_wrap=True)
