"""`ludus tune`: which sizes train fastest on this machine."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import scale_result, tables, tune_plan, tune_result, tune_trials
from ludus.cli.train import INTERRUPTED, ConfigArgument, GameOption, SetOption
from ludus.cli.tune_plan import TuneArguments
from ludus.cli.tune_trials import say
from ludus.config import places
from ludus.errors import ConfigError, FleetError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.api.settings_source import Source
    from ludus.diagnostics.tuning import Tuning

FOLDER = Path("tuning")


@dataclass(frozen=True, slots=True)
class TuningSession:
    """A tuning that can run its trials."""

    folder: Path
    state: Tuning
    source: Source  # of the settings that are tuned


BudgetOption = Annotated[
    str | None,
    typer.Option(
        metavar=tune_plan.BUDGET,
        help=f"Time for the whole tuning: 90s, 10m, 1h30m. Default: {tune_plan.BUDGET}.",
        show_default=False,
    ),
]
TryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--try",
        metavar="A.B=V,W",
        help="Try these values of a setting. They replace the usual values, or the setting is added to those that are "
        "varied. May be repeated. A setting given with --set is not varied.",
        show_default=False,
    ),
]
ApplyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the best setting into this YAML file. A new file begins as a copy of CONFIG.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON.", show_default=False)
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder for the results. Default: tuning/<config>-<date>-<n>.", show_default=False
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Continue the tuning in this folder; its trials are kept.", show_default=False),
]
StartLimitOption = Annotated[
    str | None,
    typer.Option(
        metavar="60s",
        help="A trial without an update after this time has failed. Default: 60s, and after the first trial four times "
        "the slowest start, at least 30s.",
        show_default=False,
    ),
]


def tune(
    config: ConfigArgument = None,
    game: GameOption = None,
    sets: SetOption = None,
    budget: BudgetOption = None,
    tries: TryOption = None,
    apply: ApplyOption = None,
    json: JsonOption = None,
    save: SaveOption = None,
    resume: ResumeOption = None,
    start_limit: StartLimitOption = None,
) -> None:
    """Find the sizes with which a run trains fastest on this machine: hosts, matches, parts, servers, devices.

    Trains with every combination for some seconds, goes on with the faster half, and so on. Nothing is kept of what
    was learned. Ctrl-C shows what has been measured; --resume continues.

    Example: [bold]ludus tune gen9 --budget 10m --apply my.yaml[/bold], then [bold]ludus train my.yaml[/bold]

    Example: [bold]ludus tune gen1 --try fleet.matches=32,64 --try learner.minibatch=256,512[/bold]
    """
    _check_places(apply, json, save)
    from rich.console import Console

    console = Console()
    arguments = TuneArguments(config, game, tuple(sets or ()), budget, tuple(tries or ()), apply, save, start_limit)
    try:
        session = _begin(arguments, console) if resume is None else _resumed(resume, arguments, console)
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted before anything was measured", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _tune(console, session, arguments, json)


def _tune(console: Console, session: TuningSession, arguments: TuneArguments, json: Path | None) -> None:
    """Run the trials, and show and write the results."""
    from ludus.diagnostics import tuning, tuning_report

    folder, state = session.folder, session.state
    say(console, tuning_report.busy_lines(os.getloadavg()[0], state.machine.cores))
    tuning.write(folder / tuning.JSON, state)
    finished = tune_trials.play(state, folder, console)
    console.print()
    if state.trials:
        for each in tuning_report.tables(state):
            console.print(tables.titled(each))
            console.print()
        say(console, tuning_report.verdict_lines(state))
    if json is not None:
        tuning.write(json, state)
    say(console, [f"Results: {folder / tuning.JSON}{'' if json is None else f', {json}'}."])
    _conclude(console, session, arguments, finished=finished)


def _check_places(apply: Path | None, json: Path | None, save: Path | None) -> None:
    places.check_folder(save or FOLDER, "--save")
    for path, option in ((apply, "--apply"), (json, "--json")):
        if path is not None:
            places.check_file(path, option)


def _begin(arguments: TuneArguments, console: Console) -> TuningSession:
    """Plan a new tuning and make its folder."""
    from ludus.api import settings_source
    from ludus.config.folders import new_run_dir
    from ludus.diagnostics import study, tuning, tuning_report
    from ludus.diagnostics.usage import gpu_names
    from ludus.games import command_parts, trust

    if arguments.config is not None and arguments.game is not None:
        raise ConfigError(f"--game: cannot be combined with {arguments.config}; leave out one of the two")
    if arguments.save is not None and (arguments.save / tuning.JSON).exists():
        raise ConfigError(
            f"--save: {arguments.save} already holds a tuning; continue it with --resume {arguments.save}"
        )
    source = settings_source.of(arguments.config) if arguments.game is None else settings_source.of_game(arguments.game)
    run = settings_source.resolved(source, arguments.sets)
    _check_target(arguments.apply, run)
    command_parts.install(run.game, run.options, console)
    trust.remember(run.game, run.config.options)
    planned = tune_plan.make(source.name, run, arguments)
    state = tuning.Tuning(plan=planned.plan, machine=study.this_machine(gpu_names()))
    say(console, tuning_report.plan_lines(state, planned.values, planned.left_out))
    return TuningSession(arguments.save or new_run_dir(FOLDER, source.name, date.today()), state, source)


def _resumed(folder: Path, arguments: TuneArguments, console: Console) -> TuningSession:
    """Return the tuning in a folder, with the new budget if there is one. Raises ConfigError for another machine."""
    import msgspec

    from ludus.api import settings_source
    from ludus.cli.scale_plan import seconds
    from ludus.diagnostics import study, tuning, tuning_report
    from ludus.diagnostics.usage import gpu_names
    from ludus.games import command_parts

    arguments.refuse_beside_resume()
    state, here = tuning.read(folder), study.this_machine(gpu_names())
    if state.machine != here:
        there = study.describe(state.machine)
        raise ConfigError(f"--resume: {folder} was measured on {there}; this is {study.describe(here)}; begin anew")
    source = settings_source.Source(state.plan.name, None, state.plan.settings, False)
    run = settings_source.resolved(source, ())
    settings_source.refuse_untrusted(run, (), str(folder / tuning.JSON))
    _check_target(arguments.apply, run)
    command_parts.install(run.game, run.options, console)
    changes: dict[str, float] = {}
    if arguments.budget is not None:
        changes["budget_s"] = seconds(arguments.budget, "--budget")
    if arguments.start_limit is not None:
        changes["start_limit_s"] = seconds(arguments.start_limit, "--start-limit")
    state.plan = msgspec.structs.replace(state.plan, **changes)
    say(console, tuning_report.plan_lines(state, {}, 0))
    return TuningSession(folder, state, source)


def _check_target(apply: Path | None, run: ResolvedRun) -> None:
    if apply is not None and apply.exists():
        scale_result.check_target(apply, run.config.game)


def _conclude(console: Console, session: TuningSession, arguments: TuneArguments, *, finished: bool) -> None:
    """Write the best setting into the file of --apply, or say how to continue. Raises FleetError without any result."""
    from ludus.diagnostics import tuning, tuning_report

    best, again = session.state.best(), ["ludus", "tune", "--resume", str(session.folder)]
    if not finished:
        again += [] if arguments.apply is None else ["--apply", str(arguments.apply)]
        trials = tuning_report.counted_trials(len(session.state.trials))
        say(console, [f"Interrupted: {trials} kept; continue with: {shlex.join(again)}"])
        raise typer.Exit(INTERRUPTED)
    if best is None:
        raise FleetError(f"no configuration could be measured; {session.folder / tuning.JSON} has the reasons")
    if arguments.apply is not None:
        say(console, tune_result.apply_best(arguments.apply, best, session.source, arguments.sets))
        say(console, [f"Train with it: ludus train {shlex.quote(str(arguments.apply))}"])
