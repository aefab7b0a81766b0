"""The options of `ludus bench scale`, as its command line has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.scale_plan import REPEATS
from ludus.games import defaults

Game = Annotated[
    str | None,
    typer.Option(
        metavar="G",
        help=f"Game to measure. Default: the game of the checkpoint, else {defaults.GAME}.",
        show_default=False,
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(metavar="1,2,4", help="Numbers of hosts to try. Default: 1, 2, 4 .. cores.", show_default=False),
]
Matches = Annotated[
    str | None,
    typer.Option(
        metavar="4,16,64", help="Numbers of concurrent matches per host to try. Default: 4,16,64.", show_default=False
    ),
]
Servers = Annotated[
    str | None,
    typer.Option(metavar="1,2,4", help="Numbers of servers to start, for games that use servers.", show_default=False),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="A.B=VALUE",
        help="Change options.*, fleet.* or seed. May be repeated.",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|CHECKPOINT",
        help="A scripted policy of the game, a run's folder or a checkpoint. Default: random.",
        show_default=False,
    ),
]
Repeats = Annotated[
    int | None, typer.Option(min=1, help=f"Trials per fleet size, interleaved. Default: {REPEATS}.", show_default=False)
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="10m", help="Total time of all trials: 90s, 10m, 1h30m. Default: 5m.", show_default=False),
]
MinMatches = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Matches that must finish per concurrent match; a trial that finishes fewer has timed out. Default: 1.",
        show_default=False,
    ),
]
OldMinMatches = Annotated[int | None, typer.Option("--asked", min=1, hidden=True)]  # the old name of --min-matches
Out = Annotated[
    Path | None,
    typer.Option(metavar="D", help="Folder for the results. Default: scaling/<game>-<date>-<n>.", show_default=False),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue the benchmark in --out, or the latest one.", show_default=False),
]
Apply = Annotated[
    Path | None,
    typer.Option(metavar="CONFIG", help="Write the best fleet size into this YAML file.", show_default=False),
]
