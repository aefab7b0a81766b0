"""Trains an agent and writes the report of the run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TextIO

from ludus import files, run
from ludus.actors.resolved import ResolvedRun
from ludus.api import settings_source as run_settings
from ludus.api import watching
from ludus.api.settings_source import Config
from ludus.config import familiar, load
from ludus.config.folders import CONFIG, RUNS, new_run_dir
from ludus.config.overrides import texts_of
from ludus.config.settings import RunConfig
from ludus.errors import CheckpointError, ConfigError, SetupError
from ludus.evaluation import report
from ludus.evaluation.arena import MatchupResult
from ludus.metrics.exporters.bar import ProgressBar
from ludus.metrics.exporters.log import logging_to
from ludus.metrics.observer import RunObserver
from ludus.run import RunResult, provenance
from ludus.run.folder import as_found_when_refused, has_checkpoint


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run. Pass it to `evaluate` and `load`."""

    folder: Path  # the folder of the run
    updates: int  # updates since the run first started, over all resumes
    training_s: float  # seconds of training, evaluations excluded
    checkpoint: Path | None  # the latest checkpoint, or None if none could be written
    interrupted: bool  # True if a signal ended the run early; `resume=True` continues it
    evaluation: tuple[MatchupResult, ...]  # one result per scripted opponent; empty if the run was interrupted
    report: Path | None  # the file report.md, or None if it could not be written


def train(
    config: Config | None = None,
    *,
    game: str | None = None,
    minutes: float | None = None,
    updates: int | None = None,
    settings: Mapping[str, Any] | None = None,  # Any: plain data, checked before anything starts
    run_dir: str | Path | None = None,
    resume: bool = False,
    cluster: str | None = None,
    observer: RunObserver | None = None,
    progress: bool = True,
) -> Run:
    """Train until the budget is used up, then evaluate the agent and write a report.

    Ctrl-C (or "interrupt" in a notebook) saves a checkpoint and returns.

    Args:
        config: Preset (`ludus.games()` lists them), YAML file or mapping of settings. The default is the preset "gen1".
        game: Train this game with its default settings, instead of `config`. A colon separates the game from its main
            option: "gymnasium:CartPole-v1", "showdown:gen9randombattle".
        minutes: Training time. Replaces the budget in `config`.
        updates: Number of updates. Replaces the budget in `config`.
        settings: Settings that override those in `config`: `{"learner": {"lr": 1e-3}}` or `{"learner.lr": 1e-3}`.
        run_dir: Folder of the run. The default is `runs/NAME-DATE-N`.
        resume: Continue the run in `run_dir` with its own configuration.
        cluster: Play on this Ray cluster: "auto" or "HOST:PORT" of its head. A resumed run needs it again.
        observer: Its methods `on_progress` and `on_evaluation` are called between updates. An exception ends the run.
        progress: Show a progress bar, on a terminal and in a notebook.

    Returns:
        The finished run.

    Raises:
        ConfigError: A setting is wrong.
        SetupError: Something that the game needs is missing on this machine, or the cluster cannot be used.
        HostRefused: A host refused the game's options.
        FleetError: No host is left to play on.
        TrainingError: The learner cannot continue.
        CheckpointError: A checkpoint could not be read or written.
    """
    folder = None if run_dir is None else Path(run_dir)
    source = _source(config, game, folder, resume=resume)
    sets = [*_budget(minutes, updates), *texts_of(settings or {})]
    resolved = replace(run_settings.resolved(source, sets), cluster=cluster or "")
    if resume:
        run_settings.refuse_untrusted(resolved, sets, str(source.path))
    elif folder is not None:
        refuse_used(folder)
    if resolved.game.prepare is not None:
        resolved.game.prepare(resolved.options, lambda step, share: None)
    folder = folder or new_run_dir(RUNS, source.name, date.today())
    watchers = {"the progress bar": ProgressBar(familiar.title(resolved.config))} if progress else {}
    result = run_in(folder, resolved, watchers, observer=observer, resume=resume)
    page, _ = write_report(folder, resolved.config, "ludus.train(...)")
    if result.unsaved:
        raise CheckpointError(result.unsaved)
    return Run(
        folder, result.version, result.training_s, result.checkpoint, result.interrupted, result.evaluation, page
    )


def _source(config: Config | None, game: str | None, folder: Path | None, *, resume: bool) -> run_settings.Source:
    """Return the settings of the run to resume, of the preset or file `config`, or of `game`. Raises ConfigError."""
    if resume:
        refuse_beside_resume(config, game)
        return run_settings.of_file(_folder_to_resume(folder) / CONFIG)
    return run_settings.of(config) if game is None else run_settings.of_game(game)


def run_in(
    folder: Path,
    resolved: ResolvedRun,
    watchers: Mapping[str, RunObserver],
    *,
    observer: RunObserver | None = None,
    resume: bool = False,
    resume_from: str | None = None,
    lines_to: TextIO | None = None,
) -> RunResult:
    """Lock the folder, write the configuration and telemetry into it, and train. Returns the result of the run.

    If the run cannot start, the folder is left as it was. `watchers` are observers by name; if one of them raises, the
    run continues. If `observer` raises, the run ends. Log lines are also written to `lines_to`.

    Raises ConfigError if another process trains in the folder, SetupError if the folder cannot be written, and the
    errors of `ludus.run.train`.
    """
    with run.hold(folder) as lock, as_found_when_refused(folder):
        try:
            load.save(resolved.config, folder / CONFIG)
        except OSError as error:
            raise SetupError(f"{folder / CONFIG}: cannot be written: {files.reason(error)}") from error
        title = f"{familiar.title(resolved.config)}  {folder}"
        watchers = {**watchers, **watching.configured(resolved.config.metrics, folder)}
        with watching.watched(folder, title, watchers, lines_to=lines_to, observer=observer) as all_observers:
            provenance.note(folder, resolved.machine.cores)
            return run.train(
                resolved, folder, resume=resume, resume_from=resume_from, observer=all_observers, lock=lock
            )


def write_report(folder: Path, config: RunConfig, command: str) -> tuple[Path | None, str]:
    """Write report.md. Returns its path and "", or None and the reason why it could not be written."""
    try:
        return report.write(folder, config, command), ""
    except Exception as error:  # a broken report must not hide the result of the training
        with suppress(OSError), logging_to(folder / "run.log") as logger:
            logger.error("the report could not be written", exc_info=error)
        return None, files.reason(error)


def refuse_used(folder: Path) -> None:
    """Raise ConfigError if the folder for a new run already contains a run with a checkpoint."""
    if has_checkpoint(folder):
        raise ConfigError(f"{folder} already holds a run; add --resume to continue it, or choose another --run-dir")


def refuse_beside_resume(config: object, game: object) -> None:
    """Raise ConfigError if `config` or `game` is given together with `resume`."""
    if config is not None or game is not None:
        raise ConfigError("resume: a resumed run uses its own configuration; leave out config and game")


def _folder_to_resume(folder: Path | None) -> Path:
    """Return the folder of the run to resume. Raises ConfigError if it is None or contains no run."""
    if folder is None or not (folder / CONFIG).is_file():
        raise ConfigError(f"run_dir: {folder} holds no run to resume: there is no {CONFIG} in it")
    return folder


def _budget(minutes: float | None, updates: int | None) -> list[str]:
    """Return overrides that replace the whole budget by `minutes` and `updates`; empty if both are None.

    A limit that is not given is set to 0, which means no limit.
    """
    if minutes is None and updates is None:
        return []
    return [f"budget.minutes={minutes or 0}", f"budget.updates={updates or 0}", "budget.decisions=0"]
