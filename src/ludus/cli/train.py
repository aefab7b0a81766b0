"""`ludus train`."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ludus import files
from ludus.cli import places
from ludus.config import familiar
from ludus.config.schema import RunConfig
from ludus.errors import CheckpointError, ConfigError, EvaluationError, HostRefused, SetupError
from ludus.metrics.failures import Failures
from ludus.metrics.observer import Observers, RunObserver

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.run import RunResult

DEFAULT = "gen1"
RUNS = Path("runs")
CONFIG = "config.yaml"
LOCK = "lock"  # run.lock.LOCK, without what run imports
INTERRUPTED = 130  # exit code, as shells have it for Ctrl-C


def train(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            help=f"A preset (see `ludus games`) or a YAML file. Default: {DEFAULT}.",
            show_default=False,
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(
            metavar="GAME",
            help="Instead of CONFIG: all defaults, for this game. What follows a colon is its main option: "
            "gymnasium:CartPole-v1, gymnasium:my_module:MyEnv, pettingzoo:connect_four_v3, showdown:gen9randombattle, "
            "'command:node my_host.js'.",
            show_default=False,
        ),
    ] = None,
    environments: Annotated[
        int | None,
        typer.Option(
            "--n-envs",
            metavar="N",
            help="Matches (environments) on all hosts together; the same as --set n_envs=N. fleet.matches is per host.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="A.B=VALUE", help="Change one setting; may be given several times.", show_default=False
        ),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(metavar="D", help="Folder of the run. Default: runs/<preset>-<date>-<n>.", show_default=False),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="quick|dev|full|overnight",
            help="Choose hosts, matches, batches and minutes by this machine's cores, free memory and device. "
            "What CONFIG and --set say wins; but of a game's own preset, not its minutes.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in --run-dir, or with the latest one.", show_default=False),
    ] = False,
    resume_from: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Like --resume, but from this checkpoint of the run (u00000120, or its path). Later ones are moved to "
            "a folder set-aside-N of the run.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Train an agent by self-play, then evaluate it.

    Ctrl-C saves and leaves; --resume goes on from there. A second Ctrl-C ends at once.

    Example: [bold]ludus train gen1 --set budget.minutes=30 --set learner.lr=5e-4[/bold]

    Example: [bold]ludus train gen1 --preset overnight[/bold]
    """
    places.check_folder(run_dir or RUNS, "--run-dir")
    size = () if environments is None else (f"n_envs={environments}",)
    resume = resume or resume_from is not None
    try:
        _train(Asked(config, game, (*(sets or ()), *size), run_dir, preset, resume, resume_from))
    except KeyboardInterrupt:
        typer.echo("ludus: interrupted outside of training; every checkpoint that was written is still there", err=True)
        raise typer.Exit(INTERRUPTED) from None


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line."""

    config: str | None
    game: str | None
    sets: tuple[str, ...]
    run_dir: Path | None
    preset: str | None
    resume: bool
    resume_from: str | None = None


def _train(asked: Asked) -> None:
    from rich.console import Console

    from ludus import run
    from ludus.cli import prepare, sizes
    from ludus.config import load
    from ludus.games import registry

    console = Console()
    folder = _to_resume(asked.run_dir or _run_of(asked.resume_from), asked.config) if asked.resume else asked.run_dir
    purpose = None if asked.preset is None else sizes.purpose_of(asked.preset, resume=asked.resume)
    source = _source(asked, folder)
    chosen = load.assembled(source.data, asked.sets, source.path, _fit)
    if asked.resume:
        _refuse_untrusted(chosen, asked.sets, source)
    if not asked.resume and folder is not None and has_checkpoint(folder):
        raise ConfigError(f"{folder} already holds a run; add --resume to go on with it, or choose another --run-dir")
    learning = run.learning(chosen)  # refuses what cannot be done on the device
    prepare.install(registry.load(chosen.game), chosen.options, console)
    if purpose is not None:
        sized = sizes.choose(purpose, chosen, sizes.given(source.data, asked.sets, shipped=source.shipped))
        chosen = _fit(sizes.under(source.data, sized, asked.sets))
        console.print(sizes.table(purpose, sized))
    folder = folder or new_run_dir(RUNS, source.name, date.today())
    result = _run(chosen, folder, asked, learning, console)
    page, trouble = _reported(folder, chosen, _again(asked, folder))
    _say_what_came_of_it(console, result, page, trouble)
    if result.unsaved:
        again = f"ludus train --run-dir {shlex.quote(str(folder))} --resume"
        raise CheckpointError(f"{result.unsaved}; free space, then go on from the latest one: {again}")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.unevaluated:
        again = f"ludus eval {shlex.quote(str(folder))}"
        raise EvaluationError(f"the run is trained and saved, but not evaluated: {result.unevaluated}; try: {again}")


def _refuse_untrusted(config: RunConfig, sets: Sequence[str], source: Source) -> None:
    """Raises UntrustedError where the folder of the run sets an option that only this machine may set: the folder may
    come from elsewhere."""
    from ludus.cli import local_options, prepare
    from ludus.config import load
    from ludus.games import registry, trust

    game, named = registry.load(config.game), local_options.names(sets)
    local = {name: config.options[name] for name in named if name in config.options}
    for stage in load.in_stages(config, options_of=prepare.options_of):
        ours = {name: value for name, value in local.items() if stage.options.get(name) == value}
        trust.accept(game, stage.options, str(source.path), ours)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the settings of a run come from, before --set."""

    name: str  # of the run's folder
    path: str | None  # of the file they stand in, if any
    data: Mapping[str, Any]  # Any: plain data, not yet checked
    shipped: bool  # with a game


def _source(asked: Asked, folder: Path | None) -> Source:
    from ludus.cli import prepare
    from ludus.config import load

    if asked.game is not None:
        _refuse_beside_game(asked.config, asked.resume)
        return Source(file_name(asked.game), None, {"game": asked.game}, False)
    known = prepare.presets()
    path = folder / CONFIG if asked.resume and folder else load.find(asked.config or DEFAULT, known)
    return Source(path.stem, str(path), load.read(path), path in known.values())


def _fit(data: Mapping[str, Any]) -> RunConfig:  # Any: plain data, not yet checked
    """The configuration of a run that can begin, as far as that can be told without a host."""
    from ludus.cli import prepare
    from ludus.config import load
    from ludus.games import registry
    from ludus.scale import preflight

    config = load.build(data, options_of=prepare.options_of)
    preflight.stages(config, registry.load(config.game))
    return config


def _run(chosen: RunConfig, folder: Path, asked: Asked, learning: Sequence[str], console: Console) -> RunResult:
    from ludus import provenance, run
    from ludus.config import load

    with run.hold(folder) as lock, as_found_when_refused(folder):
        try:
            load.save(chosen, folder / CONFIG)
        except OSError as error:
            raise SetupError(f"{folder / CONFIG}: cannot be written: {files.reason(error)}") from error
        if console.is_terminal:  # elsewhere they are lines of the log
            console.print("\n".join(learning), highlight=False, markup=False)
        with _observed(folder, _title(chosen, folder), console) as observer:
            provenance.note(folder)
            return run.train(
                chosen, folder, resume=asked.resume, resume_from=asked.resume_from, observer=observer, lock=lock
            )


@contextmanager
def as_found_when_refused(folder: Path) -> Iterator[None]:
    """A run that is refused before its first checkpoint leaves no folder, unless the error names a log in it; one that
    was to be resumed keeps the configuration it had. The error's traceback is in ludus.log all the same."""
    found = folder.is_dir() and any(path.name != LOCK for path in folder.iterdir())
    config = (folder / CONFIG).read_bytes() if (folder / CONFIG).is_file() else None
    checkpoint = _latest(folder)
    try:
        yield
    except (CheckpointError, ConfigError, HostRefused, SetupError) as error:
        if _latest(folder) == checkpoint:
            if not found and str(folder / "logs") not in str(error):
                shutil.rmtree(folder, ignore_errors=True)
            elif config is not None:
                with suppress(OSError):
                    files.replace(folder / CONFIG, config)
        raise


def new_run_dir(runs: Path, name: str, day: date) -> Path:
    """The first free runs/<name>-<date>-<n>, created, so that two runs started together do not share one."""
    number = 1
    while True:
        folder = runs / f"{name}-{day:%Y%m%d}-{number}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
        except OSError as error:
            raise ConfigError(_unwritable(folder, error)) from error


def _unwritable(folder: Path, error: OSError) -> str:
    reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
    return f"{folder} cannot be the folder of a run: {reason}; choose another with --run-dir"


def file_name(game: str) -> str:
    """Of the game's runs: gymnasium:my_module:MyEnv becomes gymnasium-my_module-MyEnv."""
    return re.sub(r"[^\w.]+", "-", game).strip("-")


def has_checkpoint(folder: Path) -> bool:
    """A run that failed before its first checkpoint holds nothing worth keeping: its folder may be used again."""
    return _latest(folder) is not None


def _latest(folder: Path) -> Path | None:
    from ludus.policies.archive import Checkpoints

    return Checkpoints(folder, 1).latest()


def _refuse_beside_game(config: str | None, resume: bool) -> None:
    if config is not None:
        raise ConfigError(f"--game: stands instead of {config}; to change the game of a file, use --set game=...")
    if resume:
        raise ConfigError("--game: a run that is resumed has its game; leave --game out")


def _to_resume(run_dir: Path | None, name: str | None) -> Path:
    """The run that --resume means: the given one, or the latest, of that preset if one is named."""
    if run_dir is not None:
        if not (run_dir / CONFIG).exists():
            raise ConfigError(f"{run_dir} holds no run to resume: there is no {CONFIG} in it")
        return run_dir
    pattern = f"{Path(name).stem}-*" if name else "*"
    runs = (path for path in RUNS.glob(f"{pattern}/{CONFIG}") if has_checkpoint(path.parent))
    found = sorted(runs, key=lambda path: path.stat().st_mtime)
    if not found:
        raise ConfigError(f"no run to resume in {RUNS}/{pattern}; say which: --run-dir D --resume")
    return found[-1].parent


def _run_of(checkpoint: str | None) -> Path | None:
    """Return the run of a checkpoint given by its path, or None for a mere name."""
    path = Path(checkpoint or "")
    return path.parent.parent if len(path.parts) > 2 else None


@contextmanager
def _observed(folder: Path, title: str, console: Console) -> Iterator[RunObserver]:
    """Everything that watches a run: files always; the live table on a terminal, plain lines elsewhere."""
    from ludus.evaluation.report import EVALUATIONS, PROGRESS
    from ludus.metrics.exporters.console import LiveTable
    from ludus.metrics.exporters.csv import ProgressCsv
    from ludus.metrics.exporters.evaluations import EvaluationLog
    from ludus.metrics.exporters.log import LogLines, logging_to
    from ludus.metrics.exporters.tensorboard import TensorBoard
    from ludus.metrics.exporters.tolerant import Tolerant

    failures = Failures()
    with ExitStack() as stack:
        stream = None if console.is_terminal else sys.stdout
        logger = stack.enter_context(logging_to(folder / "run.log", stream, failures))
        stack.enter_context(_logged(logger))
        logger.info("%s", title)
        exporters: dict[str, RunObserver] = {
            PROGRESS: ProgressCsv(folder / PROGRESS),
            EVALUATIONS: EvaluationLog(folder / EVALUATIONS),
            "tensorboard": TensorBoard(folder / "tensorboard"),
            "the log": LogLines(logger),
        }
        if console.is_terminal:
            exporters["the live table"] = LiveTable(title, console)
        tolerant = [stack.enter_context(Tolerant(name, each, failures)) for name, each in exporters.items()]
        yield Observers(tolerant, failures)


@contextmanager
def _logged(logger: logging.Logger) -> Iterator[None]:
    """What stops the run stands in its own log too, with its traceback."""
    try:
        yield
    except Exception:
        logger.exception("the run stopped")
        raise


def _title(config: RunConfig, folder: Path) -> str:
    return f"{familiar.title(config)}  {folder}"


def _again(asked: Asked, folder: Path) -> str:
    """How to make the run again."""
    if asked.resume:
        return shlex.join(["ludus", "train", str(folder / CONFIG)])
    words = ["--game", asked.game] if asked.game is not None else [asked.config or DEFAULT]
    words += [] if asked.preset is None else ["--preset", asked.preset]
    return shlex.join(["ludus", "train", *words, *(word for each in asked.sets for word in ("--set", each))])


def _reported(folder: Path, config: RunConfig, command: str) -> tuple[Path | None, str]:
    """Write the report; returns where it is, or None and why it could not be written."""
    from ludus.evaluation import report
    from ludus.metrics.exporters.log import logging_to

    try:
        return report.write(folder, config, command), ""
    except Exception as error:  # whatever is wrong with a page, the user is to see what hours of training came to
        with suppress(OSError), logging_to(folder / "run.log") as logger:
            logger.error("the report could not be written", exc_info=error)
        return None, files.reason(error)


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
    if result.checkpoint is not None:
        yield f"ludus eval {folder} --save-replays {folder}/replays", "evaluate again, save matches"
        yield f"ludus replay {folder}/replays/FILE", "then watch one of them"
    yield f"tensorboard --logdir {folder}/tensorboard", "see every number"
