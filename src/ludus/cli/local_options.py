"""`--set options.NAME=VALUE` of commands that read a file from elsewhere: what this machine gives in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ludus.errors import ConfigError

SECTION = "options"

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


def given(sets: Sequence[str] | None) -> dict[str, Any]:  # Any: options of a game, not yet checked
    """The options that `--set` names. Raises ConfigError for any other setting."""
    from ludus.config import load

    for text in sets or ():
        path = text.partition("=")[0].strip()
        if not path.startswith(f"{SECTION}."):
            raise ConfigError(
                f"--set {text}: only options of the game can be set here, as in --set options.node=system"
            )
    return dict(load.override({SECTION: {}}, sets or ())[SECTION])


def names(sets: Sequence[str]) -> frozenset[str]:
    """The options that are set as a whole among any settings. `options.kwargs.size=3` does not vouch for the rest of
    kwargs, so it is not among them."""
    paths = ([key.strip() for key in text.partition("=")[0].split(".")] for text in sets)
    return frozenset(path[1] for path in paths if len(path) == 2 and path[0] == SECTION)
