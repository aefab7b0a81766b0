"""`--set options.NAME=VALUE` of commands that read a file from elsewhere: what this machine gives in its place."""

from __future__ import annotations

from typing import Annotated

import typer

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
