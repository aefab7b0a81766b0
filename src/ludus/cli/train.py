"""`ludus train`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.actors.cluster import refuse_address
from ludus.cli import learner_place, train_arguments, train_profile, train_watch, unattended
from ludus.cli.renamed import renamed_option
from ludus.cli.train_arguments import TrainArguments
from ludus.config import familiar, places
from ludus.config.folders import CONFIG, RUNS, new_run_dir
from ludus.errors import CheckpointError, ConfigError, EvaluationError
from ludus.games import defaults
from ludus.metrics.observer import RunObserver

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.api.settings_source import Source
    from ludus.run import RunResult

INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C

ConfigArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        help=f"A preset (see `ludus games`) or a YAML file. Default: {defaults.PRESET}.",
        show_default=False,
    ),
]
GameOption = Annotated[
    str | None,
    typer.Option(
        metavar="GAME",
        help="Train this game with default settings, instead of CONFIG. A colon separates it from its main option: "
        "gymnasium:CartPole-v1, gymnasium:my_module:MyEnv, pettingzoo:connect_four_v3, showdown:gen9randombattle, "
        "'command:node my_host.js'.",
        show_default=False,
    ),
]
EnvironmentsOption = Annotated[
    int | None,
    typer.Option(
        "--n-envs",
        metavar="N",
        help="Matches (environments) on all hosts together; the same as --set n_envs=N. fleet.matches is per host.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="A.B=VALUE", help="Change one setting; may be given several times.", show_default=False
    ),
]
RunDirOption = Annotated[
    Path | None,
    typer.Option(metavar="D", help="Folder of the run. Default: runs/<preset>-<date>-<n>.", show_default=False),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        metavar="quick|dev|full|overnight",
        help="Choose hosts, matches, batches and minutes by this machine's cores, free memory and device. "
        "Values in CONFIG and --set win, except the minutes of a preset that comes with a game.",
        show_default=False,
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Continue the run in --run-dir, or the latest run.", show_default=False),
]
ResumeFromOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Like --resume, but from this checkpoint of the run (u00000120, or its path). Later ones are moved to "
        "a folder set-aside-N of the run.",
        show_default=False,
    ),
]
WatchOption = Annotated[
    bool,
    typer.Option("--watch", help="Show the run on a page in the browser while it trains, and print its address."),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        metavar="hosts,actor,learner|all",
        help="Profile these processes for --profile-seconds, from the first update on, into RUN/profile-N: one table "
        "of the hottest frames, and files for speedscope.",
        show_default=False,
    ),
]
ProfileSecondsOption = Annotated[
    float | None,
    typer.Option(metavar="S", help="How long --profile records. Default: 30.", show_default=False),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="auto|HOST:PORT",
        help="Play on the nodes of this Ray cluster. auto: the cluster that this machine belongs to.",
        show_default=False,
    ),
]
LearnerOption = Annotated[
    str | None,
    typer.Option(
        metavar="auto|here|node",
        help="With --cluster: where to learn. node: on a node with a GPU, which must have the folder of the run. auto "
        "(the default): on such a node if this machine has no GPU.",
        show_default=False,
    ),
]


def train(
    config: ConfigArgument = None,
    game: GameOption = None,
    environments: EnvironmentsOption = None,
    sets: SetOption = None,
    run_dir: RunDirOption = None,
    size: SizeOption = None,
    preset: Annotated[str | None, typer.Option("--preset", hidden=True)] = None,  # the old name of --size
    resume: ResumeOption = False,
    resume_from: ResumeFromOption = None,
    watch: WatchOption = False,
    profile: ProfileOption = None,
    profile_seconds: ProfileSecondsOption = None,
    cluster: ClusterOption = None,
    learner: LearnerOption = None,
) -> None:
    """Train an agent by self-play, then evaluate it.

    Ctrl-C saves a checkpoint and stops; --resume continues from it. A second Ctrl-C stops at once.

    Example: [bold]ludus train gen1 --set budget.minutes=30 --set learner.lr=5e-4[/bold]

    Example: [bold]ludus train gen1 --size overnight[/bold]

    Example: [bold]ludus train gen1 --profile hosts,actor,learner --profile-seconds 30[/bold]

    Example: [bold]ludus train gen9 --cluster auto[/bold]
    """
    places.check_folder(run_dir or RUNS, "--run-dir")
    if preset is not None:
        renamed_option("--preset", "--size")
        size = size or preset
    n_envs = () if environments is None else (f"n_envs={environments}",)
    resume = resume or resume_from is not None
    sets = [*(sets or ()), *n_envs]
    profiling = train_profile.arguments(profile, profile_seconds)
    arguments = TrainArguments(
        config,
        game,
        tuple(sets),
        run_dir,
        size,
        resume,
        resume_from,
        profiling,
        watch,
        cluster,
        learner_place.checked(learner, cluster),
    )
    if cluster is not None and not unattended.is_child():
        raise typer.Exit(_train_unattended(arguments, cluster))
    try:
        start(arguments)
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted outside of training; every checkpoint that was written is still there", err=True)
        raise typer.Exit(INTERRUPTED) from None


def start(arguments: TrainArguments) -> None:
    """Train as the arguments say, with the live table on a terminal. Raises typer.Exit if interrupted."""
    from rich.console import Console

    from ludus.actors import resolved
    from ludus.api import settings_source, training
    from ludus.cli import sizes
    from ludus.games import command_parts

    console = Console()
    folder = (
        _to_resume(arguments.run_dir or _run_of(arguments.resume_from), arguments.config)
        if arguments.resume
        else arguments.run_dir
    )
    purpose = None if arguments.size is None else sizes.purpose_of(arguments.size, resume=arguments.resume)
    source = _source(arguments, folder)
    if arguments.learner == learner_place.NODE:
        _learn_elsewhere(arguments)
    run = settings_source.resolved(source, arguments.sets)
    if learner_place.may_be_elsewhere(arguments.learner, run):
        _learn_elsewhere(arguments)
    if arguments.resume:
        settings_source.refuse_untrusted(run, arguments.sets, str(source.path))
    elif folder is not None:
        training.refuse_used(folder)
    command_parts.install(run.game, run.options, console)
    if purpose is not None:
        sized = sizes.choose(purpose, run, sizes.fixed_settings(source.data, arguments.sets, shipped=source.is_preset))
        run = resolved.resolve(sizes.under(source.data, sized, arguments.sets), run.machine)
        console.print(sizes.table(purpose, sized))
    run = replace(run, cluster=arguments.cluster or "")
    folder = folder or new_run_dir(RUNS, source.name, date.today())
    result = _run(run, folder, arguments, console)
    page, trouble = training.write_report(folder, run.config, _again(arguments, folder))
    _say_what_came_of_it(console, result, page, trouble)
    if result.unsaved:
        again = f"ludus train --run-dir {shlex.quote(str(folder))} --resume"
        raise CheckpointError(f"{result.unsaved}; free space, then go on from the latest one: {again}")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.unevaluated:
        again = f"ludus eval {shlex.quote(str(folder))}"
        raise EvaluationError(f"the run is trained and saved, but not evaluated: {result.unevaluated}; try: {again}")


def _train_unattended(arguments: TrainArguments, cluster: str) -> int:
    """Train in a child process, which is started again from the last checkpoint if it or the cluster is lost."""
    refuse_address(cluster)
    folder = arguments.run_dir
    if arguments.resume:
        folder = _to_resume(arguments.run_dir or _run_of(arguments.resume_from), arguments.config)
    elif folder is None:
        folder = new_run_dir(RUNS, _source(arguments, None).name, date.today())
    first = train_arguments.on_cluster(arguments, folder, cluster, arguments.learner)
    again = train_arguments.again(folder, cluster, arguments.learner)
    try:
        return unattended.train([*first, *(["--watch"] if arguments.watch else [])], [*again, "--resume"], folder)
    finally:
        with suppress(OSError):
            folder.rmdir()  # if it is empty, because the run was refused


def _learn_elsewhere(arguments: TrainArguments) -> None:
    """Train on a node with a GPU, and raise typer.Exit at the end. Returns if this machine must learn."""
    folder, cluster = arguments.run_dir, arguments.cluster
    assert folder is not None  # `_train_unattended` sets them
    assert cluster is not None
    code = learner_place.train_elsewhere(
        lambda head: train_arguments.on_cluster(arguments, folder.resolve(), head, learner_place.HERE),
        folder,
        cluster,
        arguments.learner,
    )
    if code is not None:
        raise typer.Exit(code)


def _source(arguments: TrainArguments, folder: Path | None) -> Source:
    from ludus.api import settings_source

    if arguments.game is not None:
        _refuse_beside_game(arguments.config, arguments.resume)
        return settings_source.of_game(arguments.game)
    return (
        settings_source.of_file(folder / CONFIG)
        if arguments.resume and folder
        else settings_source.of(arguments.config)
    )


def _run(run: ResolvedRun, folder: Path, arguments: TrainArguments, console: Console) -> RunResult:
    """Train, with the live table on a terminal and plain lines elsewhere."""
    from ludus.actors import resolved
    from ludus.api import training
    from ludus.games import hooks
    from ludus.metrics.exporters.console import LiveTable

    watchers: dict[str, RunObserver] = {}
    if console.is_terminal:  # elsewhere these are lines of the log
        lines = [line for line in resolved.describe(run) if not line.startswith(" ")]  # the log has the details
        console.print("\n".join(lines), highlight=False, markup=False)
        if not arguments.watch:
            words = f"To see it in a browser: ludus watch {shlex.quote(str(folder))}"
            console.print(words, highlight=False, markup=False)
        game_lines = hooks.table_lines_of(run.game)
        watchers["the live table"] = LiveTable(f"{familiar.title(run.config)}  {folder}", console, game_lines)
    if arguments.watch:
        watchers = {"the page": train_watch.RunPage(folder, console), **watchers}
    with train_profile.profiled(arguments.profiling, run, folder, console) as profiles:
        return training.run_in(
            folder,
            run,
            {**watchers, **profiles},
            resume=arguments.resume,
            resume_from=arguments.resume_from,
            lines_to=None if console.is_terminal else sys.stdout,
        )


def _refuse_beside_game(config: str | None, resume: bool) -> None:
    if config is not None:
        raise ConfigError(f"--game: cannot be combined with {config}; to change the game of a file, use --set game=...")
    if resume:
        raise ConfigError("--game: cannot be combined with --resume, because a run keeps its game; leave --game out")


def _to_resume(run_dir: Path | None, name: str | None) -> Path:
    """Return the folder to resume: `run_dir`, or the latest run (of the preset `name`, if given)."""
    if run_dir is not None:
        if not (run_dir / CONFIG).exists():
            raise ConfigError(f"{run_dir} holds no run to resume: there is no {CONFIG} in it")
        return run_dir
    from ludus.run.folder import has_checkpoint

    pattern = f"{Path(name).stem}-*" if name else "*"
    runs = (path for path in RUNS.glob(f"{pattern}/{CONFIG}") if has_checkpoint(path.parent))
    paths = sorted(runs, key=lambda path: path.stat().st_mtime)
    if not paths:
        raise ConfigError(f"no run to resume in {RUNS}/{pattern}; say which: --run-dir D --resume")
    return paths[-1].parent


def _run_of(checkpoint: str | None) -> Path | None:
    """Return the run of a checkpoint given by its path, or None for a mere name."""
    path = Path(checkpoint or "")
    return path.parent.parent if len(path.parts) > 2 else None


def _again(arguments: TrainArguments, folder: Path) -> str:
    """Return the command that repeats the run."""
    if arguments.resume:
        return shlex.join(["ludus", "train", str(folder / CONFIG)])
    return shlex.join(["ludus", "train", *train_arguments.what(arguments)])


def _say_what_came_of_it(console: Console, result: RunResult, page: Path | None, trouble: str) -> None:
    from ludus.cli.tables import win_rates

    folder = shlex.quote(str(result.run_dir))
    console.print()
    if result.evaluation:
        console.print(win_rates(result.evaluation))
        console.print()
    done = "stopped" if result.interrupted else "finished"
    where = f"It is in {folder}, its report in {shlex.quote(str(page))}." if page is not None else f"It is in {folder}."
    lines = [f"The run {done} after update {result.version:,}. {where}"]
    if page is None:
        lines.append(f"The report could not be written: {trouble}.")
    if result.checkpoint_failures:
        lines.append(f"{result.checkpoint_failures} checkpoints could not be written; see {folder}/run.log.")
    lines.append("What to do next:")
    for command, words in _next_steps(result, folder):
        lines += [f"  {command}", f"      {words}"]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _next_steps(result: RunResult, folder: str) -> Iterator[tuple[str, str]]:
    if result.interrupted:
        yield f"ludus train --run-dir {folder} --resume", "go on"
    yield f"ludus watch {folder}", "see curves, times, matches and settings in the browser"
    if result.checkpoint is not None:
        yield f"ludus eval {folder} --save-replays {folder}/replays", "evaluate again, save matches"
        yield f"ludus replay {folder}/replays/FILE", "then watch one of them"
    yield f"tensorboard --logdir {folder}/tensorboard", "see every number"
