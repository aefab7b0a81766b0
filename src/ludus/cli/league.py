"""`ludus league` and `ludus compare`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ludus.cli import league_train
from ludus.cli.bars import match_lines
from ludus.errors import ConfigError
from ludus.games import command_parts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ludus.evaluation.tournament import TournamentTotals
    from ludus.league.standings import Standings

app = typer.Typer(
    help="Rate agents of many runs in one table: a league is a folder that any run can join.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the league.")]
Hosts = Annotated[int, typer.Option(min=0, help="Number of hosts; 0: one per core.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Draws the matches. Default: new matches each time.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
WIDE = 100  # columns from which the worst opponents are shown


app.command("train")(league_train.train)
app.command("exploit")(league_train.exploit)


@app.callback()
def league() -> None:
    """Rate agents of many runs in one table: a league is a folder that any run can join."""


@app.command("new")
def new(
    folder: Folder,
    game: Annotated[str, typer.Option(help="Name of the game, such as showdown or gymnasium:MyEnv.")],
    format_name: Annotated[
        str, typer.Option("--format", help="The same as --set options.format=NAME.", show_default=False)
    ] = "",
    scripted: Annotated[bool, typer.Option(help="Add all scripted policies, on which ratings are anchored.")] = True,
    sets: command_parts.Sets = None,
) -> None:
    """Make a league for one game.

    Example: [bold]ludus league new leagues/gen1 --game showdown --format gen1randombattle[/bold]
    """
    from rich.console import Console

    from ludus.api import leagues, settings_source
    from ludus.config import places

    console = Console()
    places.check_folder(folder, "DIR")
    assignments = [*(sets or ()), *([f"options.format={format_name}"] if format_name else [])]
    run = settings_source.resolved(settings_source.of_game(game), assignments)
    command_parts.install(run.game, run.options, console)
    there = leagues.new(folder, game, assignments, scripted=scripted)
    members = there.members()
    _print(console, f"{folder} is a league of {there.note.spec}, schema {there.note.schema}.")
    _print(console, f"{len(members)} members: {', '.join(members) or 'none yet'}. Next:")
    _print(console, f"  ludus league add {folder} RUN")


@app.command("add")
def add(
    folder: Folder,
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CHECKPOINT|scripted:NAME|tcp://...",
            help="A run (its latest checkpoint), a checkpoint, a script, or a policy that `ludus serve` answers for.",
        ),
    ],
    name: Annotated[str, typer.Option(help="Name of the member. Default: RUN@CHECKPOINT.", show_default=False)] = "",
    parents: Annotated[
        str, typer.Option(help="Members that it was trained from, separated by commas.", show_default=False)
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Add all checkpoints of the run.")] = False,
) -> None:
    """Add an agent to a league. Its weights are copied.

    Example: [bold]ludus league add leagues/gen1 runs/gen1-20250101-1[/bold]
    """
    from rich.console import Console

    from ludus.api import leagues

    for member in leagues.add(folder, what, name=name, parents=_names(parents), every=every):
        _print(Console(), f"{member.name} is a member of {folder}")


@app.command("play")
def play(
    folder: Folder,
    members: Annotated[
        str, typer.Option(help="Who plays, separated by commas. Default: all.", show_default=False)
    ] = "",
    matches: Annotated[int, typer.Option(min=2, help="Matches of each two that meet; half with swapped sides.")] = 20,
    until: Annotated[
        str, typer.Option(metavar="settled", help="Play until ranks are known, where they are not.", show_default=False)
    ] = "",
    limit: Annotated[int, typer.Option(min=2, help="Most matches with --until settled.")] = 20_000,
    system: Annotated[str, typer.Option(help="round-robin, gauntlet or swiss.")] = "round-robin",
    challengers: Annotated[
        str, typer.Option(help="With --system gauntlet: the members that play against all others.", show_default=False)
    ] = "",
    hosts: Hosts = 0,
    seed: Seed = None,
    sets: command_parts.Sets = None,
) -> None:
    """Play matches between members. Ctrl-C ends the tournament; every finished match stays in the league.

    Example: [bold]ludus league play leagues/gen1 --until settled[/bold]
    """
    from rich.console import Console

    from ludus.api import leagues
    from ludus.config.overrides import given_options
    from ludus.processes import interrupts

    if until not in ("", "settled"):
        raise ConfigError(f"--until {until}: expected settled")
    if system not in leagues.SYSTEMS:
        raise ConfigError(f"--system {system}: expected {', '.join(leagues.SYSTEMS)}")
    console = Console()
    with interrupts.handled() as stopped, match_lines(console) as show:
        result = leagues.play(
            folder,
            members=_names(members),
            challengers=_names(challengers),
            system=next(each for each in leagues.SYSTEMS if each == system),
            matches=matches,
            until_settled=bool(until),
            limit=limit,
            hosts=hosts,
            seed=seed,
            options=given_options(tuple(sets or ())),
            stopped=stopped,
            progress=show,
        )
    leagues.write(folder)
    _show(console, result.table)
    _tell(console, result.played, interrupted=result.interrupted)
    if until and not result.settled:
        _print(console, "Some ranks are not settled yet: play again, or with a higher --limit.")


@app.command("standings")
def standings(folder: Folder, as_json: AsJson = False) -> None:
    """Show the table, and write standings.md, standings.csv and payoff.png into the folder.

    Example: [bold]ludus league standings leagues/gen1[/bold]
    """
    from rich.console import Console

    from ludus.api import leagues

    table, paths = leagues.write(folder)
    if as_json:
        page = {"league": str(folder), "notes": table.notes, "standings": table.lines}
        typer.echo(msgspec.json.encode(page).decode())
        return
    console = Console()
    _show(console, table)
    _print(console, f"Written: {', '.join(str(path) for path in paths)}")


@app.command("page")
def page(
    folder: Folder,
    replays: Annotated[bool, typer.Option(help="Replay the best matches, to link a page of each.")] = True,
) -> None:
    """Write one HTML file with the table, pictures and best matches. It needs no network.

    Example: [bold]ludus league page leagues/gen1[/bold]
    """
    from rich.console import Console

    from ludus.api import leagues

    console = Console()
    if replays:
        with console.status("replaying the best matches") if console.is_terminal else nullcontext():
            trouble = leagues.write_replays(folder)
        for each in trouble:
            _print(console, each)
    _, paths = leagues.write(folder, page=True)
    _print(console, f"{paths[-1]}")


def compare(
    first: Annotated[
        str, typer.Argument(metavar="A", help="A run, a checkpoint, scripted:NAME, tcp://..., or a member.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")],
    elo: Annotated[
        tuple[float, float],
        typer.Option(
            help="A is not better if it leads by at most the first number of Elo, and better from the second on."
        ),
    ] = (0.0, 10.0),
    limit: Annotated[int, typer.Option(min=2, help="Most matches to play.")] = 20_000,
    league_folder: Annotated[
        Path | None,
        typer.Option("--league", metavar="DIR", help="A and B are members of this league.", show_default=False),
    ] = None,
    hosts: Hosts = 0,
    seed: Seed = None,
    as_json: AsJson = False,
    sets: command_parts.Sets = None,
) -> None:
    """Play A against B until it is known whether A is better. Each answer is wrong in at most 5% of the cases.

    Example: [bold]ludus compare runs/gen1-20250101-2 runs/gen1-20250101-1 --elo 0 10[/bold]
    """
    from rich.console import Console

    from ludus.api import comparing
    from ludus.config.overrides import given_options
    from ludus.processes import interrupts

    console = Console(stderr=as_json)
    with interrupts.handled() as stopped, match_lines(console) as show:
        result = comparing.compare(
            first,
            second,
            elo=elo,
            limit=limit,
            league=league_folder,
            hosts=hosts,
            seed=seed,
            options=given_options(tuple(sets or ())),
            stopped=stopped,
            progress=show,
        )
    comparison = result.comparison
    if as_json:
        typer.echo(msgspec.json.encode({"first": first, "second": second, "elo": elo, **_plain(comparison)}).decode())
        return
    low, high = comparison.interval
    _print(console, f"{first} against {second}: {comparison.elo:+.1f} Elo (95% interval {low:+.1f} to {high:+.1f})")
    _print(console, f"{comparison.matches:,} matches in pairs with swapped sides.")
    answers = {
        "better": f"Better: the difference is above {elo[0]:g} Elo.",
        "not better": f"Not better: the difference is below {elo[1]:g} Elo.",
        "undecided": f"Cannot tell yet: about {comparison.more_matches:,} more matches are needed.",
    }
    console.print(answers[comparison.outcome], style="bold", highlight=False)
    _tell(console, result.played, interrupted=result.interrupted)


def _plain(comparison: object) -> dict[str, object]:
    import dataclasses

    assert dataclasses.is_dataclass(comparison)
    return {each.name: getattr(comparison, each.name) for each in dataclasses.fields(comparison)}


def _show(console: Console, table: Standings) -> None:
    console.print(_table(table, wide=console.width >= WIDE))
    for note in table.notes:
        _print(console, note)


def _table(table: Standings, *, wide: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ludus.metrics.exporters import text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("", justify="right")
    grid.add_column("member", overflow="fold", min_width=18)
    for name in ("Elo", "95% interval", "matches", "score", "> next", "Nash"):
        grid.add_column(name, justify="right", no_wrap=True)
    sides_differ = table.sides_differ and wide
    for name in ("first side", "second side") if sides_differ else ():
        grid.add_column(name, justify="right", no_wrap=True)
    if wide:
        grid.add_column("worst opponent", overflow="fold")
    for line in table.lines:
        worst = f"{line.worst_opponent} {text.percent(line.worst_share)}" if line.worst_opponent else "-"
        grid.add_row(
            str(line.rank),
            Text(line.name),
            f"{line.elo:.0f}",
            f"{line.low:.0f} to {line.high:.0f}",
            f"{line.matches:,}",
            text.percent(line.share, 1),
            text.percent(line.better_than_next),
            text.percent(line.nash, 1),
            *([f"{line.first_elo:.0f}", f"{line.second_elo:.0f}"] if sides_differ else []),
            *([Text(worst)] if wide else []),
        )
    return grid


def _tell(console: Console, played: TournamentTotals, *, interrupted: bool) -> None:
    """Print what a tournament lost or left out."""
    if interrupted:
        _print(console, f"Stopped. The {played.matches:,} matches that ended are in the results.")
    for name, count in sorted(played.forfeits.items()):
        _print(console, f"{name} forfeited {count:,} matches")
    for name, why in sorted(played.failures.items()):
        _print(console, f"{name} plays no more: {why}")
    if played.dropped or played.voided:
        _print(console, f"{played.dropped:,} matches without a result, {played.voided:,} voided and played again")


def _print(console: Console, line: str) -> None:
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
