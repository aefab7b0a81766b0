"""The options of `ludus plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Matches = Annotated[
    str | None, typer.Option("--matches", help="Goal: this many matches, as 10e6 or 10M.", show_default=False)
]
Decisions = Annotated[
    str | None, typer.Option("--decisions", help="Goal: this many decisions, as 1e9 or 1G.", show_default=False)
]
Measured = Annotated[
    Path | None,
    typer.Option(
        "--measured",
        help="Folder of an earlier run, a scaling.json of `ludus bench scale`, or a benchmark's JSON lines.",
        show_default=False,
    ),
]
Row = Annotated[
    str | None,
    typer.Option("--row", help="Row of a benchmark, as gen9randombattle/train.", show_default="train"),
]
PriceFile = Annotated[
    Path | None,
    typer.Option("--prices", help="YAML file of machines and prices.", show_default="examples, not quotes"),
]
Machines = Annotated[
    list[str] | None,
    typer.Option("--machine", help="Use only this machine of the price file. May be repeated.", show_default=False),
]
Deadline = Annotated[str | None, typer.Option("--deadline", help="Time limit, as 48h or 1.5d.", show_default=False)]
Spot = Annotated[bool, typer.Option("--spot", help="Workers may be spot machines; the head never is.")]
Checkpoint = Annotated[str, typer.Option("--checkpoint", help="Interval between checkpoints, as 60s or 10m.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
