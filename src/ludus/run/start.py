"""Start a run: find the checkpoint to continue from, start servers and actor, and train one stage after the other."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path

import msgspec
import torch

from ludus.actors import cluster, ray_cluster, resolved, same_net, start
from ludus.actors.ray_cluster import RayCluster
from ludus.actors.resolved import ResolvedRun
from ludus.errors import CheckpointError, ConfigError
from ludus.games import trust
from ludus.league.curriculum import Curriculum, CurriculumState
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.observer import RunObserver
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint
from ludus.policies.checkpoints.read_errors import reading
from ludus.processes import interrupts
from ludus.processes.interrupts import Interrupts
from ludus.run import initial, rewind
from ludus.run.lock import RunLock, hold
from ludus.run.loop import RunLoop, RunResult

log = logging.getLogger(__name__)


def train(
    run: ResolvedRun,
    run_dir: Path,
    *,
    resume: bool = False,
    resume_from: str | None = None,
    observer: RunObserver,
    lock: RunLock | None = None,
) -> RunResult:
    """Train until the budget is used up or a signal arrives, then evaluate.

    SIGINT, SIGTERM and SIGHUP save a checkpoint and end the run; a second signal ends the process at once. A signal
    that arrives before training begins raises KeyboardInterrupt, since there is nothing to save. If the actor or the
    fleet fails, the weights are saved before the error is raised.

    Args:
        run: the run, as `resolve` returns it.
        run_dir: folder of the run.
        resume: continue from the latest checkpoint in `run_dir`.
        resume_from: name of the checkpoint to continue from. Later checkpoints are moved to a folder beside them.
        observer: receives the metrics and the results of evaluations.
        lock: the lock on `run_dir`, if the caller holds it.

    Raises:
        ConfigError: another process trains in this folder, or the folder already holds a run.
        CheckpointError: there is no checkpoint to continue from, or it is damaged or of another game or net.
        HostRefused, FleetError, TrainingError: hosts or actor cannot be started, or failed too often.
    """
    with ExitStack() as stack:
        run_lock = lock or stack.enter_context(hold(run_dir))
        run_lock.tell()
        nodes = None
        if run.cluster:
            cluster.refuse_unfit(run.config)
            nodes = stack.enter_context(ray_cluster.connected(run.cluster))
            run = _on_cluster(run, nodes)
        interrupted = stack.enter_context(interrupts.handled())
        torch.set_num_threads(run.config.policy.threads)
        for line in resolved.describe(run):
            log.info("%s", line)
        stages = run.stages or (run,)
        with interrupted.raised():
            _install(stages)
            saved = _checkpoint(run_dir, resume=resume, name=resume_from)
            initial.refuse_unfit(run.continued_from(saved))
            if saved is not None:
                checkpoint.check_net(saved.state, run.config.policy, run.game.net, saved.path)
            curriculum = _curriculum(run, saved)
            same_net.refuse_other_nets(stages, run_dir / "logs" / "asked")
            if resume_from is not None and saved is not None:
                rewind.set_aside(run_dir, saved.path)
        while True:
            stage = stages[0 if curriculum is None else curriculum.index].continued_from(saved)
            result = _train_stage(stage, run_dir, observer, curriculum, interrupted, nodes)
            if result is not None:
                return result
            saved = _checkpoint(run_dir, resume=True)


def _on_cluster(run: ResolvedRun, nodes: RayCluster) -> ResolvedRun:
    """Return the run, divided among the nodes that are in the cluster now."""
    playing = resolved.on_cluster(run, nodes.nodes.alive)
    gpus = [node for node in nodes.nodes.alive if node.gpus]
    if run.learner_device.type == "cpu" and gpus:
        log.warning("this machine, where the learner runs, has no GPU; start ludus on %s", cluster.listed(gpus))
    if playing.actor_device.device.type == "cuda":
        nodes.gpus_each = cluster.gpus_each(nodes.nodes.alive, playing.actors.actors)
    return playing


def _train_stage(
    stage: ResolvedRun,
    run_dir: Path,
    observer: RunObserver,
    curriculum: Curriculum | None,
    interrupted: Interrupts,
    nodes: RayCluster | None,
) -> RunResult | None:
    """Train one stage, on servers and hosts of its own. Returns None if another stage must begin, from the checkpoint
    that was written last."""
    metrics = Metrics()
    with ExitStack() as servers:
        with interrupted.raised():
            served = servers.enter_context(stage.game.served(stage.options, stage.config.servers, run_dir / "servers"))
        stage = stage.played_with(served.options)
        with ExitStack() as actor:
            with interrupted.raised(), metrics.activity(names.START):
                source = actor.enter_context(start.open_source(stage, run_dir, metrics, nodes))
                run = RunLoop(stage, run_dir, source, metrics, observer, curriculum, served.health)
            outcome = run.train(interrupted)
        if outcome == "changed":
            return None
        return run.finish(interrupted=outcome == "stopped")


def _install(stages: tuple[ResolvedRun, ...]) -> None:
    """Install the programs that hosts need, in this process so that the user sees it, and mark the options as
    trusted."""
    for stage in stages:
        trust.remember(stage.game, stage.config.options)
        stage.game.command(stage.options)


def _checkpoint(run_dir: Path, *, resume: bool, name: str | None = None) -> SavedCheckpoint | None:
    """Return the checkpoint to continue from, verified, or None for a new run."""
    path = _latest(run_dir, resume) if name is None else rewind.find(run_dir, name)
    if path is None:
        return None
    with checkpoint.offering_another(path, "--resume-from"):
        for file in (checkpoint.MODEL, checkpoint.OPTIMISER):
            checksums.verified(path / file)
        return SavedCheckpoint(path, checkpoint.read_state(path))


def _latest(run_dir: Path, resume: bool) -> Path | None:
    latest = Checkpoints(run_dir, 1).latest()
    if resume and latest is None:
        raise CheckpointError(f"{run_dir} has no checkpoint to resume from")
    if not resume and latest is not None:
        raise ConfigError(f"{run_dir} already holds a run ({latest.name}); resume it or choose another folder")
    return latest


def _curriculum(run: ResolvedRun, saved: SavedCheckpoint | None) -> Curriculum | None:
    if not run.config.curriculum:
        return None
    if saved is None or saved.state.curriculum is None:
        return Curriculum(run.config.curriculum, None)
    with reading("the curriculum of the checkpoint"):
        state = msgspec.convert(saved.state.curriculum, CurriculumState)
    return Curriculum(run.config.curriculum, state)
