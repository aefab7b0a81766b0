"""The training loop of a run: updates, snapshots of past selves, evaluations, checkpoints and progress reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from ludus.actors.actor import layout_of
from ludus.actors.mixed_source import MixedSource
from ludus.actors.resolved import ResolvedRun
from ludus.actors.shared_memory import free_bytes
from ludus.actors.start import RunSource
from ludus.errors import EvaluationError, FleetError, HostError
from ludus.evaluation.arena import MatchupResult
from ludus.games.registry import ServersHealth, nets_of
from ludus.league.curriculum import Curriculum
from ludus.league.pool import Pool
from ludus.learner import algorithms
from ludus.learner.loop import Learner, Updater
from ludus.learner.mixed_updater import MixedUpdater
from ludus.learner.replay_buffer import ReplayBuffer, refuse_what_does_not_fit
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.observer import RunObserver
from ludus.policies import nets
from ludus.run import initial
from ludus.run.context import RunContext
from ludus.run.evaluator import Evaluator, StoppedError
from ludus.run.opponent_desk import OpponentDesk
from ludus.run.reporting import Teller
from ludus.run.saving import Saver
from ludus.run.stages import ChangedError, Stages
from ludus.spec import GameSpec

UNEVALUATED = (
    EvaluationError,
    FleetError,
    HostError,
    OSError,
)  # errors with which an evaluation may fail; training continues
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of `train`: the finished or interrupted run."""

    run_dir: Path
    version: int  # number of updates, including those before a resume
    training_s: float  # seconds of training, without evaluations, including those before a resume
    checkpoint: Path | None  # the latest checkpoint; None if none could be written
    checkpoint_failures: int  # checkpoints and snapshots that could not be written
    interrupted: bool  # True if a signal ended the run, which can then be resumed
    evaluation: tuple[MatchupResult, ...]  # results of the final evaluation; empty if interrupted
    unevaluated: str = ""  # the reason if the final evaluation failed
    unsaved: str = ""  # says what is lost if the last checkpoint could not be written


class RunLoop:
    """Trains one stage of a run (or the whole run, without a curriculum) with the decisions of a source."""

    def __init__(
        self,
        run: ResolvedRun,
        run_dir: Path,
        source: RunSource,
        metrics: Metrics,
        observer: RunObserver,
        course: Curriculum | None = None,
        servers: Callable[[], ServersHealth | None] = lambda: None,
    ) -> None:
        config, game = run.config, run.game
        net = nets.build(source.spec, config.policy, game.net, seed=run.seed("weights"), game_nets=nets_of(game))
        if run.checkpoint is None and config.start_from:
            initial.load(net, source.spec, Path(config.start_from))
        generator = torch.Generator().manual_seed(run.seed("minibatches"))
        self.algorithm = algorithms.build(config.learner, net, source.spec, generator, run.learner_device)
        replay = _replay(run, source.spec)
        updater: Updater = self.algorithm
        if isinstance(source, MixedSource):
            updater = MixedUpdater(self.algorithm, source.spec, is_recorded=lambda: source.is_recorded)
        self.learner = Learner(source, updater, config.learner, config.budget, metrics, replay=replay)
        pool = Pool(run_dir / "pool", config.opponents.pool)
        self._parts = RunContext(run, run_dir, source, metrics, observer, self.algorithm, self.learner, pool, course)
        metrics.set(names.CORES, run.cores)
        self._saver = Saver(self._parts, lambda: self._opponents.state)
        self._opponents = OpponentDesk(self._parts, self._saver.keep_past_self)
        if run.checkpoint is not None:
            self._saver.restore(run.checkpoint)
        self._teller = Teller(self._parts, servers)
        self._evaluator = Evaluator(self._parts, self._teller, lambda: self._stopped())
        self._stages = Stages(self._parts, self._saver)
        self._stopped: Callable[[], bool] = lambda: False

    def train(self, stopped: Callable[[], bool]) -> Literal["finished", "stopped", "changed"]:
        """Train until the budget is used up, `stopped` returns True, or the stage of the curriculum changes.

        Returns which of these happened: "finished", "stopped" or "changed". A checkpoint is written in every case.
        """
        parts = self._parts
        self._stopped = stopped
        parts.source.start(self.algorithm.weights.numpy(), self.learner.version)
        self._opponents.begin()
        parts.playing = True
        parts.metrics.set(names.PHASE, "training")
        came_to: Literal["finished", "stopped", "changed"] = "stopped"
        try:
            if self.learner.run(self._tick, self._after_update):
                came_to = "finished"
        except StoppedError:
            pass
        except ChangedError:
            came_to = "changed"
        finally:
            if parts.change is None:
                self._teller.note_servers()
                self._saver.save_last(stopped)
            parts.playing = False
        self._teller.tell(now=True)
        return came_to

    def evaluate(self, *, final: bool = False) -> tuple[MatchupResult, ...]:
        """Play the present weights greedily against the configured opponents, then save a checkpoint.

        Returns one result per opponent, or () if there are no opponents.
        """
        results = self._evaluator.play(final=final)
        if results:
            self._saver.save_evaluated()
        return results

    def finish(self, *, interrupted: bool) -> RunResult:
        """Play the final evaluation, unless the run is interrupted, and return the result of the run.

        If the evaluation fails, the result contains the reason instead of scores.
        """
        if interrupted or self._stopped():
            return self._result(interrupted=True)
        try:
            return self._result(self.evaluate(final=True))
        except StoppedError:
            return self._result(interrupted=True)
        except UNEVALUATED as error:
            self._note_failure("at the end", error)
            self._teller.tell(now=True)
            return self._result(unevaluated=str(error))

    def _result(
        self, evaluation: Sequence[MatchupResult] = (), *, interrupted: bool = False, unevaluated: str = ""
    ) -> RunResult:
        return RunResult(
            self._parts.run_dir,
            self.learner.version,
            self.learner.training_s,
            self._saver.latest(),
            int(self._parts.metrics.counter(names.CHECKPOINT_FAILURES)),
            interrupted,
            tuple(evaluation),
            unevaluated,
            self._saver.unsaved(),
        )

    def _tick(self) -> bool:
        self._teller.tell()
        return self._stopped()

    def _after_update(self) -> None:
        version = self.learner.version
        self._opponents.after_update()
        if self.learner.used < 1 and self._evaluator.is_due():
            try:
                self.evaluate()
            except UNEVALUATED as error:  # training can continue without the evaluation
                self._note_failure(f"after update {version}", error)
        self._stages.change_where_due()
        if self._saver.is_due():
            self._saver.save()

    def _note_failure(self, when: str, error: Exception) -> None:
        self._parts.metrics.add(names.EVALUATION_FAILURES)
        log.warning("evaluation %s: %s", when, error)


def _replay(run: ResolvedRun, spec: GameSpec) -> ReplayBuffer | None:
    """Return an empty replay buffer, or None if `learner.replay` is off. Raises ConfigError if memory is too small."""
    replay, layout = run.config.learner.replay, layout_of(run.config, spec)
    if not replay.decisions:
        return None
    refuse_what_does_not_fit(replay.decisions, layout.nbytes / (layout.segments * layout.length), free_bytes())
    return ReplayBuffer(replay.decisions // layout.length, reuse=replay.reuse, seed=run.seed("replay", run.version))
