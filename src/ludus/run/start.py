"""What starts a run: checks, hosts or servers, the checkpoint to go on from; and one stage after the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
import torch

from ludus.actors import preflight, start
from ludus.actors.actor import playing_device
from ludus.config.check import check
from ludus.config.settings import RunConfig
from ludus.errors import CheckpointError, ConfigError
from ludus.games import registry, trust
from ludus.games.registry import Game
from ludus.league.curriculum import Curriculum, CurriculumState
from ludus.learner import compute, devices
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.observer import RunObserver
from ludus.policies import placement
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.checkpoints.files import reading
from ludus.processes import interrupts
from ludus.processes.interrupts import Interrupts
from ludus.run import rewind
from ludus.run.lock import RunLock, hold
from ludus.run.loop import Run, RunResult

log = logging.getLogger(__name__)


def train(
    config: RunConfig,
    run_dir: Path,
    *,
    resume: bool = False,
    resume_from: str | None = None,
    observer: RunObserver,
    lock: RunLock | None = None,
) -> RunResult:
    """Train until the budget is used up or a signal comes, then evaluate.

    `resume` goes on from the run's latest checkpoint, `resume_from` from another one of its checkpoints: later ones are
    moved to a folder beside them.

    SIGINT, SIGTERM and SIGHUP checkpoint and leave; a second one ends the process at once. One that comes before the
    training begins raises KeyboardInterrupt, since there is nothing to save. When the actor or the fleet fails, the
    weights are saved before the error is raised. Raises ConfigError if another process trains in this folder; `lock` is
    one that the caller holds already.
    """
    with ExitStack() as stack:
        held = lock or stack.enter_context(hold(run_dir))
        held.tell()
        interrupted = stack.enter_context(interrupts.handled())
        return _train(config, run_dir, resume, resume_from, observer, interrupted)


def _train(
    config: RunConfig,
    run_dir: Path,
    resume: bool,
    resume_from: str | None,
    observer: RunObserver,
    interrupted: Interrupts,
) -> RunResult:
    torch.set_num_threads(config.policy.threads)
    game = registry.load(config.game)
    stages = preflight.stages(config, game)
    for line in (*learning(config), placement.describe(playing_device(config, game.net), config.policy)):
        log.info("%s", line)
    for stage in stages:
        trust.remember(game, stage.options)
    with interrupted.raised():
        for options in _options(stages, game):
            game.command(options)  # installs what is missing here, where the user sees it
        saved = _saved(run_dir, resume) if resume_from is None else rewind.find(run_dir, resume_from)
        state = None if saved is None else _verified(saved)
        if saved is not None and state is not None:
            checkpoint.check_net(state, config.policy, game.net, saved)
        course = _course(config, state)
        preflight.refuse_other_nets(stages, game, run_dir / "logs" / "asked")
        if resume_from is not None and saved is not None:
            rewind.set_aside(run_dir, saved)
    while True:
        chosen = stages[0 if course is None else course.index]
        result = _train_stage(chosen, run_dir, game, observer, saved, course, interrupted)
        if result is not None:
            return result
        saved = _saved(run_dir, resume=True)


def learning(config: RunConfig) -> list[str]:
    """On which device a run learns, what it makes use of there and why not of the rest, in lines for its start.

    Raises ConfigError for what cannot be done there.
    """
    chosen = devices.choose(config.device)
    remembers = config.policy.memory.kind != "none"
    return compute.describe(compute.plan(config.learner, chosen.device, remembers=remembers), chosen)


def _train_stage(
    config: RunConfig,
    run_dir: Path,
    game: Game,
    observer: RunObserver,
    saved: Path | None,
    course: Curriculum | None,
    interrupted: Interrupts,
) -> RunResult | None:
    """Train on hosts of its own. None: another stage is to begin, from the checkpoint that was written last."""
    metrics = Metrics()
    (options,) = _options((config,), game)
    with ExitStack() as servers:
        with interrupted.raised():
            served = servers.enter_context(game.served(options, config.servers, run_dir / "servers"))
        serving = msgspec.structs.replace(config, options=msgspec.to_builtins(served.options))
        with ExitStack() as started:
            with interrupted.raised(), metrics.activity(names.START):
                source = started.enter_context(start.open_source(serving, run_dir, game, saved, metrics))
                run = Run(
                    config, run_dir, game, served.options, source, metrics, observer, saved, course, served.health
                )
            came_to = run.train(interrupted)
        if came_to == "changed":
            return None
        return run.finish(interrupted=came_to == "stopped")


def _options(configs: Sequence[RunConfig], game: Game) -> list[msgspec.Struct]:
    return [check(config.options, game.options, "options") for config in configs]


def _course(config: RunConfig, state: State | None) -> Curriculum | None:
    if not config.curriculum:
        return None
    if state is None or state.curriculum is None:
        return Curriculum(config.curriculum, None)
    with reading("the curriculum of the checkpoint"):
        kept = msgspec.convert(state.curriculum, CurriculumState)
    return Curriculum(config.curriculum, kept)


def _verified(saved: Path) -> State:
    """Return the state of a checkpoint whose files are whole. Raises CheckpointError, which says how to go on."""
    with checkpoint.offering_another(saved, "--resume-from"):
        for name in (checkpoint.MODEL, checkpoint.OPTIMISER):
            checksums.verified(saved / name)
        return checkpoint.read_state(saved)


def _saved(run_dir: Path, resume: bool) -> Path | None:
    """The checkpoint to go on from; None for a new run."""
    latest = Checkpoints(run_dir, 1).latest()
    if resume and latest is None:
        raise CheckpointError(f"{run_dir} has no checkpoint to resume from")
    if not resume and latest is not None:
        raise ConfigError(f"{run_dir} already holds a run ({latest.name}); resume it or choose another folder")
    return latest
