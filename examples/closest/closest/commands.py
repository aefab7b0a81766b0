"""`ludus closest`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def closest(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or one checkpoint.")],
) -> None:
    """Show which number an agent names for each number that it sees.

    Example: [bold]ludus closest runs/closest-20250101-1[/bold]
    """
    import ludus
    from closest.data import words_path  # imports in the function keep `ludus --help` quick

    agent = ludus.load(run)
    words = json.loads(words_path().read_text(encoding="utf-8"))
    for number in range(agent.spec.actions):
        typer.echo(f"{words[number]}: {words[agent.choose({'number': number})]}")
