"""`ludus generate`."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import bars
from ludus.config import places
from ludus.games import command_parts

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.api.generating import Generation

INTERRUPTED = 130  # exit code, as for a process that SIGINT ended


def generate(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the dataset.")],
    a: Annotated[
        str,
        typer.Option(
            "--a",
            metavar="POLICY",
            help="scripted:NAME, a run's folder (its latest checkpoint), a checkpoint, or tcp://HOST:PORT/NAME.",
        ),
    ],
    b: Annotated[
        str | None,
        typer.Option(
            "--b", metavar="POLICY", help="The other policy. Default: the same (self-play).", show_default=False
        ),
    ] = None,
    matches: Annotated[int, typer.Option(min=1, help="Matches in the dataset at the end.")] = 1000,
    game: Annotated[
        str | None, typer.Option(metavar="G", help="Default: the game of the checkpoint.", show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Number of hosts; 0: one per core.")] = 0,
    temperature: Annotated[
        float,
        typer.Option(min=0.0, help="Of checkpoints: 1 draws actions as in training, 0 takes the likeliest."),
    ] = 1.0,
    think_ms: Annotated[
        float,
        typer.Option(
            min=0, help="Milliseconds of search before each decision of a checkpoint; for Showdown's singles."
        ),
    ] = 0.0,
    teams: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of teams, for games with the option `teams`.", show_default=False),
    ] = None,
    on: Annotated[
        str, typer.Option(metavar="engine|servers", help="Play in the hosts, or on game servers.")
    ] = "engine",
    servers: Annotated[int, typer.Option(min=1, help="Servers to start, with --on servers.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the list of matches and of the policies.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Play the matches that are missing in the dataset.")] = False,
    sets: command_parts.Sets = None,
) -> None:
    """Play matches of two policies and record them in a dataset (docs/datasets.md).

    Ctrl-C writes the finished matches; the same command with --resume plays the others.

    Example: [bold]ludus generate --a runs/gen1-20250101-1 --b scripted:heuristic --matches 10000 --out data/gen1[/bold]
    Example: [bold]ludus generate --a gen9-best --think-ms 100 --matches 500 --out data/search[/bold]
    Example: [bold]ludus generate --a runs/gen1-20250101-1 --b tcp://127.0.0.1:5555/old?sample --out data/two[/bold]
    """
    places.check_folder(out, "--out")
    arguments = GenerateArguments(
        a, b, matches, out, game, workers, temperature, think_ms, teams, on, servers, seed, resume, tuple(sets or ())
    )
    _generate(arguments)


@dataclass(frozen=True, slots=True)
class GenerateArguments:
    """Arguments of `ludus generate`."""

    a: str
    b: str | None
    matches: int
    out: Path
    game: str | None
    workers: int
    temperature: float
    think_ms: float
    teams: Path | None
    on: str
    servers: int
    seed: int
    resume: bool
    sets: tuple[str, ...]


def _generate(arguments: GenerateArguments) -> None:
    from rich.console import Console

    from ludus.api import generating
    from ludus.config.overrides import given_options
    from ludus.data.generation import GenerationProgress
    from ludus.errors import ConfigError

    if arguments.on not in ("engine", "servers"):
        raise ConfigError(f"--on: must be engine or servers, but is {arguments.on!r}")
    console = Console()
    options = given_options(arguments.sets)
    if arguments.teams is not None:
        options["teams"] = str(arguments.teams.resolve())
    matchup = generating.resolve(
        arguments.a,
        arguments.b,
        matches=arguments.matches,
        game=arguments.game,
        seed=arguments.seed,
        temperature=arguments.temperature,
        think_ms=arguments.think_ms,
        options=options,
        on_servers=arguments.on == "servers",
    )
    command_parts.install(matchup.game, matchup.options, console)
    began_s = time.monotonic()
    played = 0
    with bars.match_lines(console) as show:

        def progress(now: GenerationProgress) -> None:
            nonlocal played
            played = now.decisions
            show(now.matches, now.planned, f"{now.decisions / max(time.monotonic() - began_s, 1e-3):,.0f} decisions/s")

        result = generating.play(
            matchup,
            arguments.out,
            workers=arguments.workers,
            servers=arguments.servers if arguments.on == "servers" else 0,
            resume=arguments.resume,
            progress=progress,
            tell=lambda line: console.print(f"search: {line}", highlight=False),
        )
    _say(console, result, played, time.monotonic() - began_s)


def _say(console: Console, result: Generation, played: int, seconds: float) -> None:
    from ludus.cli.tables import standings

    console.print(standings(result.standings))
    size = sum(path.stat().st_size for path in (result.folder / "ledger").glob("*.ledger"))
    console.print(
        f"{result.matches:,} of {result.planned:,} matches are in {result.folder}: {result.decisions:,} decisions, "
        f"{size / max(result.decisions, 1):.2f} bytes each; {played:,} decisions in {seconds:.1f} s",
        highlight=False,
        soft_wrap=True,
    )
    if result.finished:
        if result.replayable:
            console.print(f"Render their rows: ludus data render {shlex.quote(str(result.folder))}", highlight=False)
        return
    console.print("Interrupted; the same command with --resume plays the others.", highlight=False)
    raise typer.Exit(INTERRUPTED)
