"""`ludus league train` and `ludus league exploit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli.bars import match_lines
from ludus.games import command_parts

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.api.exploiting import Exploitation
    from ludus.api.league_training import AgentState


def train(
    config: Annotated[Path, typer.Argument(metavar="LEAGUE.yaml", help="The agents and their settings.")],
    only: Annotated[
        str, typer.Option(help="Agents that train on this machine, separated by commas. Default: all.")
    ] = "",
) -> None:
    """Train main agents and exploiters in one league, as ordinary runs beside or after each other.

    Ctrl-C lets all runs save themselves; the same command goes on. A run that dies is started again.

    Example: [bold]ludus league train leagues/gen1.yaml[/bold]
    """
    from rich.console import Console
    from rich.live import Live

    from ludus.api import league_training
    from ludus.processes import interrupts

    console = Console()
    settings = league_training.read(config)
    names = tuple(name.strip() for name in only.split(",") if name.strip())

    def tell(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True, markup=False)

    with interrupts.handled() as stopped, Live(console=console, auto_refresh=False, transient=True) as live:

        def show(agents: dict[str, AgentState]) -> None:
            if console.is_terminal:
                live.update(_agents(agents), refresh=True)

        state = league_training.train(settings, only=names, stopped=stopped, tell=tell, progress=show)
    console.print(_agents(state.agents))
    tell(f"Ratings: ludus league standings {settings.league}")
    if stopped():
        tell(f"Stopped. Go on with: ludus league train {config}")


def _agents(agents: dict[str, AgentState]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "status"):
        grid.add_column(name, overflow="fold")
    for name in ("generation", "joined", "starts", "failures"):
        grid.add_column(name, justify="right")
    for name, agent in agents.items():
        numbers = (agent.generation, agent.joined, agent.starts, agent.failures)
        grid.add_row(Text(name), Text(agent.status), *map(str, numbers))
    return grid


def exploit(
    member: Annotated[
        str, typer.Argument(metavar="MEMBER", help="A run, a checkpoint, a member's folder; with --league, its name.")
    ],
    minutes: Annotated[float, typer.Option(min=0.05, help="Training time of the exploiter.")] = 20.0,
    clone: Annotated[bool, typer.Option("--clone", help="Begin with the weights of the member.")] = False,
    matches: Annotated[int, typer.Option(min=2, help="Matches at each point; half with swapped sides.")] = 400,
    points: Annotated[int, typer.Option(min=1, help="Points of the curve.")] = 8,
    league_folder: Annotated[
        Path | None, typer.Option("--league", metavar="DIR", help="MEMBER is a member of it.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="D", help="Default: runs/exploit-NAME-DATE-N.", show_default=False),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Preset or file with the exploiter's settings.", show_default=False)
    ] = None,
    sets: command_parts.Sets = None,
) -> None:
    """Train an exploiter against a frozen policy, and show how often it wins after how much time.

    Ctrl-C ends the training, and then the matches; what was played is shown.

    Example: [bold]ludus league exploit runs/gen1-20250101-1 --minutes 20 --clone --config gen1[/bold]
    """
    from rich.console import Console

    from ludus.api import exploiting
    from ludus.metrics.exporters.console import LiveTable
    from ludus.metrics.observer import RunObserver
    from ludus.processes import interrupts

    console = Console()
    observers: dict[str, RunObserver] = {}
    if console.is_terminal:
        observers["the live table"] = LiveTable(f"exploiter of {member}", console)
    with interrupts.handled() as stopped, match_lines(console) as show:
        result, place = exploiting.exploit(
            member,
            league=league_folder,
            minutes=minutes,
            clone=clone,
            matches=matches,
            points=points,
            folder=folder,
            config=config,
            sets=tuple(sets or ()),
            observers=observers,
            stopped=stopped,
            progress=show,
        )
    console.print(_curve(result))
    if stopped():
        console.print("Stopped: the table has the matches that ended.", highlight=False)
    console.print(f"Written: {place / exploiting.CURVE}, {place / exploiting.PICTURE}", highlight=False, markup=False)


def _curve(result: Exploitation) -> Table:
    from rich.table import Table

    from ludus.metrics.exporters import text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("minutes", "updates", "score", "95% interval", "reward", "95% interval", "matches"):
        grid.add_column(name, justify="right")
    for point in result.points:
        interval = f"{text.percent(point.low, 1)} to {text.percent(point.high, 1)}"
        cells = (f"{point.minutes:.1f}", f"{point.updates:,}", text.percent(point.win_rate, 1), interval)
        rewards = f"{point.reward:.3g}", f"{point.reward_low:.3g} to {point.reward_high:.3g}"
        grid.add_row(*cells, *rewards, f"{point.matches:,}")
    return grid
