"""A training run from its configuration: the only place that wires the components together."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import torch

from ludus import interrupts
from ludus.config.check import check
from ludus.config.schema import RunConfig
from ludus.cores import cores
from ludus.errors import CheckpointError, ConfigError, EvaluationError, FleetError, LudusError
from ludus.evaluation import arena
from ludus.evaluation.arena import MatchupResult
from ludus.games import registry
from ludus.games.registry import Game, ServersHealth
from ludus.league.curriculum import Change, Curriculum, CurriculumState, Standing
from ludus.league.pool import Pool
from ludus.learner import algorithms, compute, devices
from ludus.learner.loop import Learner
from ludus.learner.replay import Replay, refuse_what_does_not_fit
from ludus.metrics import names, times
from ludus.metrics.core import Metrics
from ludus.metrics.observer import RunObserver
from ludus.metrics.times import RunTimes
from ludus.policies import checkpoint, nets, playing
from ludus.policies.checkpoint import Checkpoints, State
from ludus.policies.lanes import open_lane
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.scale import preflight, sources
from ludus.scale.actor import layout_of, playing_device
from ludus.scale.local import OverlappedSource, SerialSource
from ludus.scale.memory import free_bytes
from ludus.seeds import derive
from ludus.spec import GameSpec
from ludus.types import Policy

PROGRESS_S = 1.0
QUICK_EVALUATIONS = 10  # in a run, unless evaluation.every_updates says otherwise
AGENT = "agent"

Written = TypeVar("Written")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunResult:
    run_dir: Path
    version: int  # updates, those of earlier parts of a resumed run included
    training_s: float
    checkpoint: Path | None  # the latest; None when none could be written
    checkpoint_failures: int
    interrupted: bool  # by a signal; the run can be resumed
    evaluation: tuple[MatchupResult, ...]  # at the end; empty when interrupted


def train(config: RunConfig, run_dir: Path, *, resume: bool = False, observer: RunObserver) -> RunResult:
    """Train until the budget is used up or a signal comes, then evaluate.

    SIGINT and SIGTERM checkpoint and leave; a second one ends the process at once. When the actor or the fleet fails,
    the weights are saved before the error is raised.
    """
    torch.set_num_threads(config.policy.threads)
    game = registry.load(config.game)
    stages = preflight.stages(config, game)
    for line in (*learning(config), playing.describe(playing_device(config, game.net), config.policy)):
        log.info("%s", line)
    for options in _options(stages, game):
        game.command(options)  # installs what is missing here, where the user sees it
    saved = _saved(run_dir, resume)
    state = None if saved is None else checkpoint.read_state(saved)
    if saved is not None and state is not None:
        checkpoint.check_net(state, config.policy, game.net, saved)
    course = _course(config, state)
    preflight.refuse_other_nets(stages, game, run_dir / "logs" / "asked")
    while True:
        chosen = stages[0 if course is None else course.index]
        result = _train_stage(chosen, run_dir, game, observer, saved, course)
        if result is not None:
            return result
        saved = _saved(run_dir, resume=True)


def _train_stage(
    config: RunConfig, run_dir: Path, game: Game, observer: RunObserver, saved: Path | None, course: Curriculum | None
) -> RunResult | None:
    """Train on hosts of its own. None: another stage is to begin, from the checkpoint that was written last."""
    metrics = Metrics()
    (options,) = _options((config,), game)
    with game.served(options, config.servers, run_dir / "servers") as served:
        serving = msgspec.structs.replace(config, options=msgspec.to_builtins(served.options))
        with ExitStack() as started:
            with metrics.stage(names.START):
                source = started.enter_context(sources.open_source(serving, run_dir, game, saved, metrics))
                run = Run(
                    config, run_dir, game, served.options, source, metrics, observer, saved, course, served.health
                )
            with interrupts.noticed() as interrupted:  # before and after, there is nothing to save
                came_to = run.train(interrupted)
        if came_to == "changed":
            return None
        stopped = came_to == "stopped"
        return run.result(() if stopped else run.evaluate(final=True), interrupted=stopped)


def learning(config: RunConfig) -> list[str]:
    """On which device a run learns, what it makes use of there and why not of the rest, in lines for its start.

    Raises ConfigError for what cannot be done there.
    """
    chosen = devices.choose(config.device)
    remembers = config.policy.memory.kind != "none"
    return compute.describe(compute.plan(config.learner, chosen.device, remembers=remembers), chosen)


class Run:
    """One run under way: learns from a source, and now and then keeps a past self, evaluates, saves and reports."""

    def __init__(
        self,
        config: RunConfig,
        run_dir: Path,
        game: Game,
        options: msgspec.Struct,
        source: SerialSource | OverlappedSource,
        metrics: Metrics,
        observer: RunObserver,
        saved: Path | None = None,
        course: Curriculum | None = None,
        servers: Callable[[], ServersHealth | None] = lambda: None,
    ) -> None:
        self._config = config
        self._course = course
        self._change_at_s = -math.inf
        self._change: Change | None = None  # one stage has ended, the next is to begin
        self._run_dir = run_dir
        self._game = game
        self._options = options
        self._source = source
        self._spec = source.spec
        self._metrics = metrics
        self._observer = observer
        self._servers = servers
        self._stopped: Callable[[], bool] = lambda: False
        self._pool = Pool(run_dir / "pool", config.opponents.pool)
        self._checkpoints = Checkpoints(run_dir, config.checkpoint.keep)
        self._scores: dict[str, float] = {}
        net = nets.build(self._spec, config.policy, game.net, seed=derive(config.seed, "weights"))
        generator = torch.Generator().manual_seed(derive(config.seed, "minibatches"))
        self.algorithm = algorithms.build(
            config.learner, net, self._spec, generator, devices.choose(config.device).device
        )
        replay = _replay(config, self._spec, saved)
        self.learner = Learner(source, self.algorithm, config.learner, config.budget, metrics, replay=replay)
        self._playing = False
        metrics.set(names.CORES, cores())
        if saved is not None:
            self._restore(saved)
        self._saved_at = self._shown_at = time.monotonic()
        self._evaluated = self._evaluations_due()
        self._say_stage()

    def train(self, stopped: Callable[[], bool]) -> Literal["finished", "stopped", "changed"]:
        """Until the budget is used up, `stopped`, or the stage of the curriculum has changed. A checkpoint is written
        in any case."""
        self._stopped = stopped
        self._source.start(self.algorithm.weights.numpy(), self.learner.version)
        self._playing = True
        self._metrics.set(names.PHASE, "training")
        came_to: Literal["finished", "stopped", "changed"] = "stopped"
        try:
            if self.learner.run(self._tick, self._after_update):
                came_to = "finished"
        except _StoppedError:
            pass
        except _ChangedError:
            came_to = "changed"
        finally:
            if self._change is None:
                self._save()
            self._playing = False
        self._show(now=True)
        return came_to

    def evaluate(self, *, final: bool = False) -> tuple[MatchupResult, ...]:
        """Play the weights as they are, greedily, against the configured opponents; empty where there are none."""
        config, alone = self._config.evaluation, self._spec.seats == 1
        opponents = () if alone else config.opponents or tuple(self._game.scripted)
        if not opponents and not alone:
            return ()
        matches = arena.evenly(config.matches if final else config.quick_matches, self._spec.teams)
        self._metrics.set(names.PHASE, "evaluating")
        self._note(arena.Progress(0, matches * max(len(opponents), 1), opponents[0] if opponents else arena.ALONE))
        self._show(now=True)
        try:
            with self._metrics.stage(names.EVALUATE):
                results = arena.play(
                    self._game,
                    self._options,
                    self._contestants,
                    agent=AGENT,
                    opponents=opponents,
                    matches=matches,
                    seed=config.seed,
                    teams=self._spec.teams,
                    log_dir=self._run_dir / "logs" / "evaluation",
                    fleet=self._config.fleet,
                    progress=self._after_match,
                )
        finally:
            self._metrics.set(names.PHASE, "finished" if final else "training")
            if self._playing:
                self._source.catch_up()  # the actor waited meanwhile: that time is not to count as time of training
        self._scores = {result.opponent: result.reward if alone else result.win_rate for result in results}
        for result in results:
            self._metrics.set(names.WIN_RATE(result.opponent), result.score if alone else result.win_rate)
            self._metrics.set(names.RETURN(result.opponent), result.reward)
            self._metrics.add(names.EVALUATION_VOIDED, result.voided)
            self._metrics.add(names.EVALUATION_MOVED, result.moved)
        self._observer.on_evaluation(results, final=final)
        self._show(now=True)
        latest = self._save()
        if latest is not None:
            mean = sum(self._scores.values()) / len(self._scores)
            stage = 0 if self._course is None else self._course.index
            self._attempt(lambda: self._checkpoints.mark_best(latest, mean, stage))
        return tuple(results)

    def result(self, evaluation: Sequence[MatchupResult], *, interrupted: bool) -> RunResult:
        return RunResult(
            self._run_dir,
            self.learner.version,
            self.learner.training_s,
            self._checkpoints.latest(),
            int(self._metrics.counter(names.CHECKPOINT_FAILURES)),
            interrupted,
            tuple(evaluation),
        )

    def _tick(self) -> bool:
        self._show()
        return self._stopped()

    def _after_match(self, progress: arena.Progress) -> None:
        """Of an evaluation."""
        self._note(progress)
        if self._tick():
            raise _StoppedError

    def _note(self, progress: arena.Progress) -> None:
        self._metrics.set(names.EVALUATED, progress.ended)
        self._metrics.set(names.EVALUATION_MATCHES, progress.scheduled)
        self._metrics.set(names.EVALUATION_OPPONENT, progress.opponent)

    def _show(self, *, now: bool = False) -> None:
        """Tell the observer, about once a second."""
        time_s = time.monotonic()
        if not now and time_s - self._shown_at < PROGRESS_S:
            return
        self._shown_at = time_s
        used, training_s = self.learner.used, self.learner.training_s
        self._metrics.set(names.PROGRESS, min(used, 1.0))
        self._metrics.set(names.TRAINING_S, training_s)
        if used > 0:
            self._metrics.set(names.ETA_S, max(training_s / used - training_s, 0.0))
        self._note_servers()
        self._observer.on_progress(self._metrics.report())

    def _note_servers(self) -> None:
        health = self._servers()
        if health is None:
            return
        for name, value in (
            (names.SERVERS_ALIVE, health.alive),
            (names.SERVERS_TOTAL, health.total),
            (names.SERVERS_RESTARTS, health.restarts),
            (names.SERVERS_RECYCLED, health.recycled),
            (names.SERVERS_MIB, health.memory_mib),
            (names.SERVERS_LARGEST_MIB, health.largest_mib),
        ):
            self._metrics.set(name, value)

    def _after_update(self) -> None:
        version, opponents = self.learner.version, self._config.opponents
        if opponents.past and version % opponents.snapshot_every == 0:
            self._attempt(self._snapshot)
        if self.learner.used < 1 and self._evaluations_due() > self._evaluated:
            self._evaluated = self._evaluations_due()
            try:
                self.evaluate()
            except (EvaluationError, FleetError) as error:  # the run itself is none the worse for it
                self._metrics.add(names.EVALUATION_FAILURES)
                log.warning("evaluation after update %d: %s", version, error)
        if self._course is not None and time.monotonic() >= self._change_at_s:
            self._change_stage(self._course)
        if time.monotonic() - self._saved_at >= self._config.checkpoint.every_s:
            self._save()

    def _change_stage(self, course: Curriculum) -> None:
        """Where the rules ask for it. A change that cannot be saved is put off."""
        before, standing = course.state, self._standing()
        change = course.due(standing)
        if change is None:
            return
        course.enter(change, standing)
        self._change = change
        if self._save() is None:
            self._change, course.state = None, before
            self._change_at_s = time.monotonic() + self._config.checkpoint.every_s
            log.warning("stage %s goes on: the change to %s could not be saved", change.before, change.after)
            return
        log.info(
            "update %d: %s from %s to %s: %s", standing.updates, change.way, change.before, change.after, change.why
        )
        raise _ChangedError

    def _standing(self) -> Standing:
        actor = self._source.state()
        rates = {} if actor is None else actor.matchmaker.rates
        return Standing(
            self.learner.version,
            int(self._metrics.counter(names.LEARNED)),
            int(self._metrics.counter(names.MATCHES)),
            (0, 0.0) if actor is None else actor.reward,
            {name: (rate.matches, rate.score) for name, rate in rates.items()},
            self._scores,
        )

    def _say_stage(self) -> None:
        if self._course is not None:
            self._metrics.set(names.STAGE, self._course.index + 1)
            self._metrics.set(names.STAGES_TOTAL, self._course.stages)
            self._metrics.set(names.STAGE_NAME, self._course.state.stage)

    def _evaluations_due(self) -> int:
        """How many quick evaluations a run this far has had."""
        every = self._config.evaluation.every_updates
        return self.learner.version // every if every else int(self.learner.used * QUICK_EVALUATIONS)

    def _contestants(self, spec: GameSpec) -> dict[str, Policy]:
        net = nets.build(self._spec, self._config.policy, self._game.net)
        net.load_state_dict(self.algorithm.result.state_dict())
        lane = open_lane(playing_device(self._config, self._game.net).device)
        rounds = self._config.policy.precision == "bf16"
        agent = NetPolicy(net, self._spec, version=self.learner.version, greedy=True, lane=lane, bf16=rounds)
        seed = self._config.evaluation.seed
        return {AGENT: agent, **{name: make(spec, seed) for name, make in self._game.scripted.items()}}

    def _snapshot(self) -> None:
        self._pool.add(self.learner.version, checkpoint.net_tensors(self.algorithm.net))
        versions = self._pool.versions()
        self._source.set_past(versions)
        self._metrics.set(names.POOL, len(versions))

    def _save(self) -> Path | None:
        """A checkpoint of this version and what is under way. A full disk is counted and shown; training goes on."""
        self._saved_at = time.monotonic()
        with self._metrics.stage(names.CHECKPOINT):
            model = {**checkpoint.net_tensors(self.algorithm.result), **checkpoint.table_tensors(self._spec)}
            optimiser = self.algorithm.state()
            matches = self._attempt(self._write_matches)  # before the state: what the actor counted comes with it
            if self._change is not None and matches is not None:
                matches.unlink()  # they belong to the stage that ends
                matches = None
            replay = self._attempt(self._write_replay)
            path = self._attempt(
                lambda: self._checkpoints.save(
                    self._state(), model, optimiser, matches, replay, between=self._change is not None
                )
            )
        if path is not None:
            self._attempt(self._pool.sweep)
            self._attempt(self._write_times)
        return path

    def _write_times(self) -> None:
        kept = RunTimes(self._metrics.times(), self._config.fleet.hosts or cores(), cores())
        times.write(self._run_dir / times.STAGES_FILE, kept)

    def _write_matches(self) -> Path | None:
        """A checkpoint without them is better than none: the matches of the resumed run then begin anew."""
        if not self._playing:
            return None
        path, trouble = self._checkpoints.staged(), "the actor does not say how they stand"
        try:
            if self._source.save(path):
                return path
        except LudusError as error:
            trouble = str(error)
        log.warning("update %d is saved without the matches under way: %s", self.learner.version, trouble)
        return None

    def _write_replay(self) -> Path | None:
        """It changes with the version alone."""
        if self._checkpoints.holds(self.learner.version) or self._change is not None:
            return None
        path = self._checkpoints.staged(checkpoint.REPLAY)
        return path if self.learner.feed.save(path) else None

    def _attempt(self, write: Callable[[], Written]) -> Written | None:
        try:
            return write()
        except (CheckpointError, OSError) as error:
            self._metrics.add(names.CHECKPOINT_FAILURES)
            log.warning("%s", error)
            return None

    def _state(self) -> State:
        actor, counters, scores = self._source.state(), self._metrics.counters(), self._scores
        if self._change is not None:
            matches = (self._config.fleet.hosts or cores()) * self._config.fleet.matches
            counted = names.PROMOTIONS if self._change.way == "promoted" else names.FALLBACKS
            for name, value in ((counted, 1), (names.UNFINISHED, matches)):
                counters[name] = counters.get(name, 0) + value
            actor, scores = None if actor is None else actor.forget(), {}
        return State(
            version=self.learner.version,
            game=checkpoint.note_game(self._spec),
            options=dict(self._config.options),
            net=self._game.net if self._config.policy.net == "auto" else self._config.policy.net,
            policy=self._config.policy,
            counters=counters,
            training_s=self.learner.training_s,
            generators={"minibatches": checkpoint.encode_generator(self.algorithm.generator)},
            pool=self._pool.versions(),
            actor=None if actor is None else msgspec.to_builtins(actor),
            scores=scores,
            curriculum=None if self._course is None else msgspec.to_builtins(self._course.state),
        )

    def _restore(self, path: Path) -> None:
        state = checkpoint.read_state(path)
        checkpoint.check_fits(state, self._spec, path, staged=self._course is not None)
        checkpoint.load_net(self.algorithm.net, read_tensors(path / checkpoint.MODEL), path)
        self.algorithm.load_state(read_tensors(path / checkpoint.OPTIMISER))
        checkpoint.restore_generator(self.algorithm.generator, state.generators["minibatches"])
        anew = self._metrics.counter(names.BEGUN_ANEW)  # counted when the source was opened
        kept = times.read(self._run_dir / times.STAGES_FILE)
        self._metrics.restore(state.counters, None if kept is None else kept.times)
        if anew:
            self._metrics.add(names.BEGUN_ANEW, anew)
        self.learner.version, self.learner.training_s = state.version, state.training_s
        self._scores = dict(state.scores)
        if sources.begins_stage(state) and not (path / checkpoint.REPLAY).exists():
            return
        try:
            self.learner.feed.restore(path / checkpoint.REPLAY)
        except CheckpointError as error:
            log.warning("%s; the replay buffer begins anew", error)


class _StoppedError(Exception):
    """Leaves an evaluation when the run is to stop."""


class _ChangedError(Exception):
    """Leaves the learner's loop when another stage is to begin."""


def _options(configs: Sequence[RunConfig], game: Game) -> list[msgspec.Struct]:
    return [check(config.options, game.options, "options") for config in configs]


def _course(config: RunConfig, state: State | None) -> Curriculum | None:
    if not config.curriculum:
        return None
    kept = None if state is None or state.curriculum is None else msgspec.convert(state.curriculum, CurriculumState)
    return Curriculum(config.curriculum, kept)


def _replay(config: RunConfig, spec: GameSpec, saved: Path | None) -> Replay | None:
    """Empty; its seed is for a resumed run that has nothing to go on with."""
    kept, layout = config.learner.replay, layout_of(config, spec)
    if not kept.decisions:
        return None
    refuse_what_does_not_fit(kept.decisions, layout.nbytes / (layout.segments * layout.length), free_bytes())
    version = 0 if saved is None else checkpoint.read_state(saved).version
    return Replay(kept.decisions // layout.length, reuse=kept.reuse, seed=derive(config.seed, "replay", version))


def _saved(run_dir: Path, resume: bool) -> Path | None:
    """The checkpoint to go on from; None for a new run."""
    latest = Checkpoints(run_dir, 1).latest()
    if resume and latest is None:
        raise CheckpointError(f"{run_dir} has no checkpoint to resume from")
    if not resume and latest is not None:
        raise ConfigError(f"{run_dir} already holds a run ({latest.name}); resume it or choose another folder")
    return latest
