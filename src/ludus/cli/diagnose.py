"""`ludus diagnose`: what limits a run, and what would help."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli.train import INTERRUPTED, GameOption, SetOption
from ludus.config import places
from ludus.config.folders import CONFIG
from ludus.errors import ConfigError, LudusError
from ludus.suggestions import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.diagnostics.diagnosis.examine import Examination
    from ludus.diagnostics.diagnosis.record import Diagnosis

FOLDER = Path("diagnosis")
SECONDS, SHORTEST_S, LONGEST_S = 5.0, 0.5, 600.0
CHECKED = 2  # suggestions that --apply-and-measure tries

RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN|CONFIG",
        help="The folder of a run, a preset (see `ludus games`) or a YAML file. Default: the default preset.",
        show_default=False,
    ),
]
TestOption = Annotated[
    str,
    typer.Option(
        "--test",
        metavar="all|env|inference|learner|transport|gpu",
        help="Stages to measure, separated by commas. Only `all` also measures training and names the bottleneck.",
    ),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(
        metavar="OTHER.json",
        help="Compare with an earlier diagnosis (its diagnosis.json or folder): better, worse, or cannot tell.",
        show_default=False,
    ),
]
ApplyOption = Annotated[
    bool,
    typer.Option(
        "--apply-and-measure",
        help=f"Train with and without the {CHECKED} best suggestions in turns, and measure what they gain.",
    ),
]
SecondsOption = Annotated[float, typer.Option(metavar="S", help="Measured time of each stage and of each trial.")]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder for diagnosis.json, .md and .png. Default: diagnosis/<name>-<date>-<n>.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class DiagnoseArguments:
    """Arguments of `ludus diagnose`."""

    config: str | None
    game: str | None
    sets: tuple[str, ...]
    test: str
    against: Path | None
    check: bool
    seconds: float
    save: Path | None


def diagnose(
    config: RunArgument = None,
    game: GameOption = None,
    sets: SetOption = None,
    test: TestOption = "all",
    against: AgainstOption = None,
    check: ApplyOption = False,
    seconds: SecondsOption = SECONDS,
    save: SaveOption = None,
) -> None:
    """Measure each stage of a run alone, then the whole, and say what limits it and what would help.

    Hosts without a policy, the policy without hosts, the learner on recorded batches, copies, then training. The run
    itself is not changed: nothing is kept of what was learned.

    Example: [bold]ludus diagnose gen1 --save before[/bold], then, after a change,
    [bold]ludus diagnose gen1 --against before[/bold]

    Example: [bold]ludus diagnose runs/gen1-20250101-1 --apply-and-measure[/bold]
    """
    places.check_folder(save or FOLDER, "--save")
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ConfigError(f"--seconds: {seconds:g} is not between {SHORTEST_S:g} and {LONGEST_S:g}")
    arguments = DiagnoseArguments(config, game, tuple(sets or ()), test, against, check, seconds, save)
    try:
        _diagnose(arguments, stages_of(test))
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted; nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None


def stages_of(text: str) -> tuple[str, ...]:
    """Return the stages that `--test` names. Raises ConfigError for an unknown one."""
    from ludus.diagnostics.diagnosis.record import STAGES

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in (*STAGES, "all"):
            raise ConfigError(f"--test: there is no stage {name!r}; {did_you_mean(name, [*STAGES, 'all'])}")
    if not names:
        raise ConfigError(f"--test: names no stage; give some of all, {', '.join(STAGES)}")
    return STAGES if "all" in names else tuple(stage for stage in STAGES if stage in names)


def _diagnose(arguments: DiagnoseArguments, stages: tuple[str, ...]) -> None:
    from rich.console import Console

    from ludus.config.folders import new_run_dir
    from ludus.diagnostics import tuning_report
    from ludus.diagnostics.diagnosis import diagnosis_report, record
    from ludus.diagnostics.study import this_machine
    from ludus.diagnostics.usage import gpu_names
    from ludus.processes import interrupts

    console = Console()
    before = None if arguments.against is None else record.read(arguments.against)
    name, run, pool = _run_of(arguments, console)
    for line in tuning_report.busy_lines(os.getloadavg()[0], run.machine.cores):
        _say(console, line)
    folder = arguments.save or new_run_dir(FOLDER, name, date.today())
    gpus = gpu_names()
    with interrupts.handled() as interrupted, interrupted.raised():
        examination = _examination(name, run, pool, folder, this_machine(gpus), arguments, console)
        examination.measure(stages, gpus)
        examination.conclude()
        if arguments.check:
            _check(examination, gpus, console)
    examination.clean()
    diagnosis = examination.diagnosis
    record.write(folder, diagnosis)
    page = diagnosis_report.write(folder, diagnosis, _again(arguments), before)
    _show(console, diagnosis, before)
    _say(console, f"Written: {page}, {record.JSON} and {diagnosis_report.PICTURE} beside it.")
    if diagnosis.failures and len(diagnosis.measures) <= 1:
        raise LudusError(f"no stage could be measured; {page} has the reasons")


def _run_of(arguments: DiagnoseArguments, console: Console) -> tuple[str, ResolvedRun, Path]:
    """Return the name of what is diagnosed, the run, and the folder of its past selves, which need not exist."""
    from ludus.api import settings_source
    from ludus.games import command_parts, trust

    if arguments.config is not None and arguments.game is not None:
        raise ConfigError(f"--game: cannot be combined with {arguments.config}; leave out one of the two")
    folder = Path(arguments.config or "")
    is_run = arguments.config is not None and folder.is_dir()
    if is_run and not (folder / CONFIG).is_file():
        raise ConfigError(f"{folder} holds no run: there is no {CONFIG} in it")
    if is_run:
        source, sets = settings_source.of_file(folder / CONFIG), (*_start_from(folder), *arguments.sets)
    elif arguments.game is not None:
        source, sets = settings_source.of_game(arguments.game), arguments.sets
    else:
        source, sets = settings_source.of(arguments.config), arguments.sets
    run = settings_source.resolved(source, sets)
    if is_run:
        settings_source.refuse_untrusted(run, sets, str(source.path))
    command_parts.install(run.game, run.options, console)
    trust.remember(run.game, run.config.options)
    if run.config.data.folder:
        raise ConfigError("a run that learns from a dataset has no hosts to measure; `ludus train` shows its times")
    stage = run.stages[0] if run.stages else run
    name = folder.resolve().name if is_run else source.name
    return name, stage, folder / "pool" if is_run else Path("no-pool")


def _start_from(run_dir: Path) -> tuple[str, ...]:
    """Return an override with which the stages begin with the run's latest weights, if it has a checkpoint."""
    from ludus.run.folder import has_checkpoint

    return (f"start_from={run_dir}",) if has_checkpoint(run_dir) else ()


def _examination(
    name: str,
    run: ResolvedRun,
    pool: Path,
    folder: Path,
    machine: object,
    arguments: DiagnoseArguments,
    console: Console,
) -> Examination:
    import msgspec

    from ludus.config import familiar
    from ludus.diagnostics.diagnosis.examine import Examination
    from ludus.diagnostics.diagnosis.record import Diagnosis
    from ludus.diagnostics.study import MachineInfo

    assert isinstance(machine, MachineInfo)
    diagnosis = Diagnosis(
        name=name,
        title=familiar.title(run.config),
        settings=msgspec.to_builtins(run.config),
        machine=machine,
        hosts=run.hosts,
        actors=run.actors.actors,
        learner_on_gpu=run.learner_device.type == "cuda",
        policy_on_gpu=run.actor_device.device.type == "cuda",
    )
    return Examination(
        run, folder, pool, diagnosis, arguments.seconds, lambda words: _say(console, f"Measuring: {words} ...")
    )


def _check(examination: Examination, gpus: str, console: Console) -> None:
    """Measure the best suggestions by training with and without them."""
    from ludus.diagnostics.diagnosis import trials

    diagnosis = examination.diagnosis
    if not diagnosis.suggestions:
        _say(console, "Nothing to apply: no setting is expected to help by 2% or more.")
        return
    plan = trials.TrialPlan(examination.run.config, examination.folder / "trials", examination.seconds, gpus)
    for at, suggestion in enumerate(diagnosis.suggestions[:CHECKED]):
        diagnosis.suggestions[at] = trials.check(plan, suggestion, examination.tell)


def _show(console: Console, diagnosis: Diagnosis, before: Diagnosis | None) -> None:
    from rich.markup import escape

    from ludus.cli import tables
    from ludus.diagnostics.diagnosis import diagnosis_report

    for table in diagnosis_report.tables(diagnosis, before):
        rows = [tuple(escape(word) for word in row) for row in table.rows]  # reasons of failures may look like markup
        console.print()
        console.print(tables.titled(replace(table, rows=rows)))
    console.print()
    for line in diagnosis_report.lines(diagnosis, before):
        _say(console, line)


def _again(arguments: DiagnoseArguments) -> str:
    words = ["ludus", "diagnose", *([arguments.config] if arguments.config else [])]
    words += ["--game", arguments.game] if arguments.game else []
    words += [word for each in arguments.sets for word in ("--set", each)]
    words += ["--test", arguments.test] if arguments.test != "all" else []
    words += ["--seconds", f"{arguments.seconds:g}"] if arguments.seconds != SECONDS else []
    words += ["--against", str(arguments.against)] if arguments.against is not None else []
    return shlex.join([*words, *(["--apply-and-measure"] if arguments.check else [])])


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=not console.is_terminal)
