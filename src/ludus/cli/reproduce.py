"""`ludus reproduce`: what made a run, and the same once more."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.config.folders import CONFIG, RUNS, new_run_dir
from ludus.config.overrides import given_paths
from ludus.errors import ConfigError, UntrustedError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.run.reproduction import RunOrigin


def reproduce(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    again: Annotated[
        bool, typer.Option("--run", help="Train it again, into a new folder, and compare the final results.")
    ] = False,
    run_dir: Annotated[
        Path | None,
        typer.Option(metavar="D", help="Folder of the new run. Default: runs/<name>-<date>-<n>.", show_default=False),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="A.B=VALUE",
            help="Change a setting. A run from another machine cannot name programs and paths: give them here.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what made a run: commit, configuration and versions, what differs here, and how to make it again.

    With --run, trains it again with this version of ludus, and compares the final evaluations.

    Example: [bold]ludus reproduce runs/gen1-20250101-1[/bold], then the same with [bold]--run[/bold]
    """
    from rich.console import Console

    from ludus.api import settings_source
    from ludus.run import reproduction

    if not (run / CONFIG).is_file():
        raise ConfigError(f"{run} holds no run: there is no {CONFIG} in it")
    console, overrides = Console(), tuple(sets or ())
    source = settings_source.of_file(run / CONFIG)
    resolved = settings_source.resolved(source, overrides)
    folder = run_dir or RUNS / f"{run.resolve().name}-again"
    _show(console, run, resolved, reproduction.origin(run, resolved.machine.cores), folder)
    if again:
        _refuse_strangers(resolved, overrides, run)
        _again(console, run, overrides, run_dir)


def _show(console: Console, run: Path, resolved: ResolvedRun, origin: RunOrigin, folder: Path) -> None:
    """Print what made the run. Nothing that its folder names is run or opened."""
    from ludus.config import familiar
    from ludus.run import reproduction

    config = resolved.config

    def say(line: str = "") -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    budget = {name: value for name in ("minutes", "decisions", "updates") if (value := getattr(config.budget, name))}
    say(reproduction.printable(familiar.title(config)))
    say(f"  seed {config.seed}, mode {config.mode}, budget {', '.join(f'{n:g} {name}' for name, n in budget.items())}")
    if origin.first is not None:
        version, commit = reproduction.printable(origin.first.version), origin.commit or "unknown"
        say(f"  made with ludus {version}, commit {commit}, on {reproduction.printable(origin.first.system)}")
    differences = origin.differences()
    say("Differences between then and here:" if differences else "No recorded difference between then and here.")
    for each in differences:
        say(f"  {each.what}: {each.then} then, {each.now} here")
    doubts = origin.doubts(config)
    if doubts:
        say("The result will be similar, not equal:")
        for reason in doubts:
            say(f"  {reason}")
    elif not differences:
        say("The same command gives the same weights.")
    say("To make it again:")
    if origin.commit and any(each.what == "commit" for each in differences):
        say(f"  git checkout {origin.commit}")
    say(f"  ludus train {shlex.quote(str(run / CONFIG))} --run-dir {shlex.quote(str(folder))}")
    say(f"  or with the version here: ludus reproduce {shlex.quote(str(run))} --run")


def _refuse_strangers(resolved: ResolvedRun, overrides: tuple[str, ...], run: Path) -> None:
    """Raise UntrustedError for settings that only the user of this machine may choose, unless --set gives them."""
    from ludus.api import settings_source
    from ludus.run import reproduction

    origin = str(run / CONFIG)
    settings_source.refuse_untrusted(resolved, overrides, origin)
    user_paths = given_paths(overrides)
    places = [reproduction.local_places(each.config) for each in (resolved, *resolved.stages)]
    for name, value in (item for each in places for item in each.items()):
        if not any(path == name or path.startswith(f"{name}.") for path in user_paths):
            raise UntrustedError(
                f"{origin}: sets {name} to {reproduction.printable(value)!r}, a place on a machine; a file may not "
                f"choose that. If it is right here, give it yourself: --set {name}=..."
            )


def _again(console: Console, run: Path, overrides: tuple[str, ...], run_dir: Path | None) -> None:
    from ludus.cli.tables import compared
    from ludus.cli.train import start
    from ludus.cli.train_arguments import TrainArguments
    from ludus.run import reproduction

    folder = run_dir or new_run_dir(RUNS, run.resolve().name, date.today())
    start(TrainArguments(str(run / CONFIG), None, overrides, folder, None, resume=False))
    rows = reproduction.compared(run, folder)
    if rows:
        console.print(compared(rows))
    else:
        console.print("The results cannot be compared: one of the runs has no final evaluation.", highlight=False)
