"""`ludus replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.config import places
from ludus.config.overrides import given_options
from ludus.games import command_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ludus.evaluation.reward_timeline import Timeline


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
    rewards: Annotated[
        bool, typer.Option("--rewards", help="Draw what each seat earned by each reward term, in the page and as PNG.")
    ] = False,
    value: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A run or a checkpoint whose value estimates are drawn too. Implies --rewards.",
            show_default=False,
        ),
    ] = None,
    sets: command_parts.Sets = None,
) -> None:
    """Play a saved match again from its seed and choices, check that it ends the same, and write a page that shows it.

    Example: [bold]ludus replay runs/gen1-20250101-1/replays/000000-agent-heuristic.ludus.json[/bold]

    Rewards: [bold]ludus replay match.ludus.json --rewards --value runs/rocket-20250101-1[/bold]
    """
    if out is not None:
        places.check_file(out, "--out")
    from rich.console import Console

    from ludus.evaluation import recording
    from ludus.evaluation.replay import TimelineRequest, options_of
    from ludus.evaluation.replay import replay as play_again
    from ludus.games import registry

    console = Console()
    match = recording.read(file)
    game = registry.load(match.game)
    local = given_options(sets or ())
    command_parts.install(game, options_of(match, game, file, local), console)
    page = out or file.with_name(file.name.removesuffix(recording.SUFFIX) + ".html")
    request = TimelineRequest(value) if rewards or value is not None else None
    result = play_again(file, page, deadline_s=deadline_s, local=local, rewards=request)
    score = ", ".join(f"{who} {points:g}" for who, points in zip(match.policies, match.score, strict=True))
    turns = f" after {match.turns:g} turns" if match.turns else ""
    console.print(f"It ends as recorded{turns}: {score}", highlight=False, soft_wrap=True)
    if result.timeline is not None:
        _print_totals(console, result.timeline, match.policies)
        console.print(f"Rewards by turn: {result.picture}", highlight=False, soft_wrap=True)
    console.print(f"Watch it in a browser: {result.page}", highlight=False, soft_wrap=True)


def _print_totals(console: Console, timeline: Timeline, policies: Sequence[str]) -> None:
    """Print a table of what each seat earned in the match."""
    from rich.markup import escape
    from rich.table import Table

    table = Table("reward term", *(escape(f"seat {seat}, {name}") for seat, name in enumerate(policies)), box=None)
    for name, values in timeline.totals().items():
        table.add_row(escape(name), *(f"{value:.3f}" for value in values))
    console.print(table)
    if not timeline.terms:
        console.print("This game reports no reward terms, so only the whole reward is known.", highlight=False)
