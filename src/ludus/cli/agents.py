"""`ludus agents`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MIB = 2**20


def agents(
    name: Annotated[
        str | None, typer.Argument(metavar="AGENT", help="Show the model card of this agent.", show_default=False)
    ] = None,
) -> None:
    """List the trained agents that come with the games, or show the model card of one.

    The name of an agent is accepted wherever the folder of a run is.

    Example: [bold]ludus agents gen1-best[/bold]
    Example: [bold]ludus eval gen1-best[/bold]
    Example: [bold]ludus play gen1-best --accept[/bold]
    """
    from ludus.errors import ConfigError
    from ludus.games.agents import CARD, folders
    from ludus.suggestions import did_you_mean

    shipped = folders()
    if name is None:
        _list(shipped)
    elif name in shipped:
        typer.echo((shipped[name] / CARD).read_text(encoding="utf-8"))
    else:
        raise ConfigError(f"no agent {name!r} comes with ludus; {did_you_mean(name, list(shipped))}")


def _list(shipped: dict[str, Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    from ludus.games.agents import CARD
    from ludus.metrics import names
    from ludus.policies.checkpoints import checkpoint

    table = Table(box=None, header_style="bold")
    for title in ("agent", "game", "decisions", "size", "what it is"):
        table.add_column(title, justify="right" if title in ("decisions", "size") else "left")
    for agent, folder in shipped.items():
        path = checkpoint.find(folder)
        state = checkpoint.read_state(path)
        size = (path / checkpoint.MODEL).stat().st_size / MIB
        summary = (folder / CARD).read_text(encoding="utf-8").splitlines()[2]
        table.add_row(
            agent, state.game.name, f"{state.counters.get(names.LEARNED, 0.0) / 1e6:.1f} M", f"{size:.1f} MiB", summary
        )
    Console().print(table if shipped else "no agents come with the installed games")
