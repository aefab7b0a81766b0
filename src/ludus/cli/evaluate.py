"""`ludus eval`."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ludus.cli import bars
from ludus.config import places
from ludus.games import command_parts

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.evaluation.arena import MatchupResult
    from ludus.games.registry import Game
    from ludus.metrics.times import RunTimes

AGENT = "agent"
SEED = 20_000  # the default of `evaluation.seed`, so that results compare with those of training runs


def evaluate(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CHECKPOINT|tcp://...",
            help="A run's folder (its latest checkpoint), one checkpoint, or a policy on a server.",
        ),
    ],
    opponents: Annotated[
        str,
        typer.Option(
            help="Scripted policies, runs or addresses, separated by commas. Default: all scripted policies.",
            show_default=False,
        ),
    ] = "",
    matches: Annotated[int, typer.Option(min=2, help="Matches per opponent; half of them with seats swapped.")] = 400,
    save_replays: Annotated[
        Path | None, typer.Option(metavar="D", help="Save a few matches there, for `ludus replay`.", show_default=False)
    ] = None,
    hosts: Annotated[int, typer.Option(min=0, help="Number of hosts; 0: one per core.")] = 0,
    servers: Annotated[
        int | None,
        typer.Option(
            min=0, help="Servers to start, for games that use them. Default: as in its run.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the list of matches.")] = SEED,
    think_ms: Annotated[
        float, typer.Option(min=0, help="Milliseconds of search before each decision; 0: none. For Showdown's singles.")
    ] = 0.0,
    sample: Annotated[
        bool | None,
        typer.Option(
            "--sample/--most-likely",
            help="Draw the agents' actions from their policies, or take the most likely ones. Default: as its run does "
            "(evaluation.sample).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    sets: command_parts.Sets = None,
) -> None:
    """Play a trained agent against scripted opponents and others, with 95% intervals.

    Example: [bold]ludus eval runs/gen1-20250101-1 --opponents random,heuristic --matches 400[/bold]
    Example: [bold]ludus eval tcp://127.0.0.1:5555/gen1-20250101-1 --opponents runs/gen1-20250101-2[/bold]
    """
    if save_replays is not None:
        places.check_folder(save_replays, "--save-replays")
    options = tuple(sets or ())
    _evaluate(
        EvalArguments(path, opponents, matches, save_replays, hosts, servers, seed, think_ms, sample, as_json, options)
    )


@dataclass(frozen=True, slots=True)
class EvalArguments:
    """Arguments of `ludus eval`."""

    path: str
    opponents: str
    matches: int
    save_replays: Path | None
    hosts: int
    servers: int | None
    seed: int
    think_ms: float
    sample: bool | None
    as_json: bool
    sets: tuple[str, ...]


def _evaluate(arguments: EvalArguments) -> None:
    from rich.console import Console

    from ludus.api import evaluating
    from ludus.config.overrides import given_options
    from ludus.metrics.core import Metrics
    from ludus.metrics.times import ACTOR, RunTimes

    console = Console(stderr=arguments.as_json)
    names = tuple(name.strip() for name in arguments.opponents.split(",") if name.strip())
    resolved = evaluating.resolve(
        arguments.path,
        names,
        hosts=arguments.hosts,
        servers=arguments.servers,
        options=given_options(arguments.sets),
        sample=arguments.sample,
    )
    agent_name, game = resolved.agent.name, resolved.game
    command_parts.install(game, resolved.options, console)
    metrics = Metrics(ACTOR)
    with bars.counting(console, "against ") as show:
        results = evaluating.play(
            resolved,
            arguments.matches,
            seed=arguments.seed,
            save_replays=arguments.save_replays,
            progress=lambda progress: show(progress.ended, progress.scheduled, progress.opponent),
            metrics=metrics,
            think_ms=arguments.think_ms,
            tell=lambda line: console.print(f"search: {line}", highlight=False),
        )
    spent = RunTimes(metrics.times(), resolved.hosts, resolved.cores)
    if arguments.as_json:
        typer.echo(_json(agent_name, game, results, arguments.seed, spent, sample=not resolved.greedy))
    else:
        _say(console, agent_name, results, spent, arguments.save_replays)


def _json(
    agent_name: str, game: Game, results: Sequence[MatchupResult], seed: int, spent: RunTimes, *, sample: bool
) -> str:
    from ludus.metrics import bottleneck

    page = {
        "checkpoint": agent_name,
        "game": game.name,
        "seed": seed,
        "sample": sample,
        "results": [{**dataclasses.asdict(result), "win_rate": result.win_rate} for result in results],
        "activities": [{"activity": line.activity, **dataclasses.asdict(line)} for line in spent.times.lines()],
        "bottleneck": bottleneck.of_times(spent.times, hosts=spent.hosts, cores=spent.cores, advises=False),
    }
    return msgspec.json.encode(page).decode()


def _say(
    console: Console,
    agent_name: str,
    results: Sequence[MatchupResult],
    spent: RunTimes,
    save_replays: Path | None,
) -> None:
    from ludus.cli.tables import activity_times, win_rates
    from ludus.metrics import bottleneck
    from ludus.metrics.times import ACTOR

    console.print(agent_name, style="bold", highlight=False, soft_wrap=True)
    console.print(win_rates(results))
    seconds = spent.times.walls[ACTOR] / 1e9
    each = f"{results[0].matches:,} matches each, every seed from every seat"
    console.print(f"{each}, in {seconds:.1f} s. Where the time went:\n", highlight=False, soft_wrap=True)
    console.print(activity_times(spent.times))
    sentence = bottleneck.of_times(spent.times, hosts=spent.hosts, cores=spent.cores, advises=False)
    if sentence:
        console.print(f"\n{sentence}", highlight=False, soft_wrap=True)
    for result in results:
        if result.voided or result.moved or result.truncated or result.refused:
            losses = f"{result.truncated} truncated, {result.voided} voided and played again"
            moved = f"{result.moved} moved from hosts that were given up"
            console.print(f"{result.opponent}: {losses}, {moved}, {result.refused} choices refused", highlight=False)
    if save_replays is not None:
        saved = sorted(save_replays.glob("*.json"))
        console.print(f"{len(saved)} matches are in {save_replays}; watch one:", highlight=False, soft_wrap=True)
        if saved:
            console.print(f"  ludus replay {shlex.quote(str(saved[0]))}", highlight=False, soft_wrap=True)
