"""Options of commands that have another name now. The old name still works, with a note on stderr."""

from __future__ import annotations

import typer


def renamed_option(old: str, new: str) -> None:
    """Tell the user the present name of an option that was given by its old name."""
    typer.echo(f"ludus: {old} is now called {new}; the old name will be removed", err=True)
