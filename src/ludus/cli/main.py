"""Entry point of `ludus`: registers the commands and prints their errors."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

import ludus
from ludus.cli import (
    ablate,
    agents,
    bench,
    bundle,
    data,
    diagnose,
    doctor,
    evaluate,
    export,
    games,
    generate,
    hosts,
    league,
    plan,
    replay,
    reproduce,
    serve,
    train,
    tune,
    unattended,
    watch,
)
from ludus.cli.game_commands import GameCommands
from ludus.errors import ClusterLost, LudusError
from ludus.games.cache import home
from ludus.metrics.exporters.log import logging_to
from ludus.metrics.failures import Failures

FAILED, UNEXPECTED = 2, 1  # exit codes: a LudusError, and anything else
MESSAGE_CHARACTERS = 4_000  # of an error on the console

app = typer.Typer(
    name="ludus",
    cls=GameCommands,
    help="Train game-playing agents against simulators that run in other processes.",
    epilog="Start with: ludus doctor, then ludus train",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command("train", no_args_is_help=False)(train.train)
app.command("tune")(tune.tune)
app.command("diagnose", no_args_is_help=False)(diagnose.diagnose)
app.command("ablate", no_args_is_help=True)(ablate.ablate)
app.command("eval")(evaluate.evaluate)
app.command("generate")(generate.generate)
app.command("replay")(replay.replay)
app.command("reproduce")(reproduce.reproduce)
app.command("watch")(watch.watch)
app.command("export")(export.export)
app.command("games")(games.games)
app.command("agents")(agents.agents)
app.command("doctor")(doctor.doctor)
app.add_typer(data.app, name="data")
app.command("compare")(league.compare)
app.add_typer(league.app, name="league")
app.command("bundle")(bundle.bundle)
app.command("plan", no_args_is_help=True)(plan.plan)
app.add_typer(hosts.app, name="hosts")
app.add_typer(serve.app, name="serve")
app.add_typer(bench.app, name="bench")


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=lambda on: _version(on)),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command. An error is printed to stderr as one line; its traceback goes to ludus.log in the cache folder."""
    try:
        app()
    except LudusError as error:
        _note(error)
        typer.echo(f"ludus: {_one_line(error)}", err=True)
        sys.exit(unattended.CLUSTER_LOST if isinstance(error, ClusterLost) else FAILED)
    except Exception as error:
        where = _note(error)
        typer.echo(f"ludus: unexpected {type(error).__name__}: {_one_line(error)}; {where}", err=True)
        sys.exit(UNEXPECTED)


def _version(on: bool) -> None:
    if on:
        typer.echo(f"ludus {ludus.__version__}")
        raise typer.Exit


def _one_line(error: Exception) -> str:
    """Return the message on one line, without control characters: parts of it may come from a file or a host."""
    line = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line[:MESSAGE_CHARACTERS])


def _note(error: Exception) -> str:
    """Log the traceback. Returns where it is, or why it could not be written."""
    path = home() / "ludus.log"
    failures = Failures()
    try:
        with logging_to(path, failures=failures) as logger:
            logger.log(logging.ERROR, "%s", " ".join(sys.argv), exc_info=error)
    except OSError as unwritable:
        return f"the traceback could not be written to {path}: {unwritable}"
    if failures.take():
        return f"the traceback could not be written to {path}"
    return f"the traceback is in {path}"
