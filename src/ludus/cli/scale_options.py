"""The options of `ludus bench scale`, as its command line has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.cli.scale_plan import REPEATS

Game = Annotated[
    str | None, typer.Option(metavar="G", help="Default: that of the checkpoint, else showdown.", show_default=False)
]
Hosts = Annotated[
    str | None, typer.Option(metavar="1,2,4", help="Hosts to try. Default: 1, 2, 4 .. cores.", show_default=False)
]
Matches = Annotated[
    str | None,
    typer.Option(metavar="4,16,64", help="Matches at once on each host. Default: 4,16,64.", show_default=False),
]
Servers = Annotated[
    str | None,
    typer.Option(metavar="1,2,4", help="Servers to start, for a game played on such.", show_default=False),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="A.B=VALUE",
        help="Change options.*, fleet.* or seed; may be given several times.",
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
    int | None, typer.Option(min=1, help=f"Of every cell, interleaved. Default: {REPEATS}.", show_default=False)
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="10m", help="Of all turns together: 90s, 10m, 1h30m. Default: 5m.", show_default=False),
]
Ending = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Matches that must end for each at once, else the turn has timed out. Default: 1.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="D", help="Folder of the results. Default: scaling/<game>-<date>-<n>.", show_default=False),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the benchmark in --out, or with the latest one.", show_default=False),
]
Apply = Annotated[
    Path | None,
    typer.Option(metavar="CONFIG", help="Write the setting of the best cell into this YAML file.", show_default=False),
]
