"""Trains for a few seconds, without evaluations and checkpoints in between, and measures the speed of the training."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import torch
from msgspec import Struct

from ludus.actors.resolved import resolve
from ludus.actors.start import open_source
from ludus.config.seed_streams import seed_for
from ludus.config.settings import RunConfig
from ludus.diagnostics.tuning import Due, TrainingTrial
from ludus.diagnostics.usage import GpuWatch, TreeUse, watching_gpus
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.exporters import text
from ludus.metrics.observer import Numbers, Result
from ludus.metrics.times import Times
from ludus.run.loop import RunLoop

NEVER = 1_000_000_000
FEWEST_UPDATES = 4  # to measure, if they come within `PATIENCE` times the measured time
PATIENCE = 3
SNAPSHOT_EVERY = 5  # updates: past selves play from early on, since each of them costs forward passes
Phase = Literal["starting", "warming up", "measuring", "ending"]


class TrialOrder(Struct, frozen=True, kw_only=True):
    """The measurements that a trial must provide."""

    due: Due
    settings: RunConfig  # with the values of the configuration that is due
    folder: str  # of the run; the caller removes it
    warm_s: float
    measure_s: float
    gpus: str = ""  # their names; empty: there are none


class TrialProgress(Struct, frozen=True):
    phase: Phase
    decisions_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """The totals of a run after an update."""

    training_s: float
    learned: float
    updates: float
    voided: float
    restarts: float


def measure(order: TrialOrder, tell: Callable[[TrialProgress], None]) -> TrainingTrial:
    """Train in this process and its children until the measurement is complete. Raises the errors of a run.

    The first update ends the start; then follow the warm-up and the measurement, which begin and end with an update.
    """
    run = resolve(_without_breaks(order.settings, order.due.repeat))
    run = run.stages[0] if run.stages else run  # of the curriculum
    torch.set_num_threads(run.config.policy.threads)
    folder, metrics = Path(order.folder), Metrics()
    tell(TrialProgress("starting"))
    with (
        ExitStack() as gpu_watch,
        run.game.served(run.options, run.config.servers, folder / "servers") as served,
        TrialMeasurement(order, metrics, gpu_watch, tell) as measurement,
    ):
        stage = run.played_with(served.options)
        with open_source(stage, folder, metrics) as source:
            RunLoop(stage, folder, source, metrics, measurement, None, served.health).train(measurement.is_complete)
        return measurement.trial(run.hosts)


def failed(due: Due, reason: str) -> TrainingTrial:
    """Return the trial of a configuration that could not be measured."""
    return TrainingTrial(
        configuration=due.configuration, round=due.round, repeat=due.repeat, failure=reason or "unknown reason"
    )


def _without_breaks(config: RunConfig, repeat: int) -> RunConfig:
    """Return the configuration without evaluations, checkpoints and an end. Every repeat has a seed of its own."""
    replace = msgspec.structs.replace
    opponents = config.opponents
    return replace(
        config,
        seed=seed_for(config.seed, "tune", repeat),
        evaluation=replace(config.evaluation, every_updates=NEVER),
        checkpoint=replace(config.checkpoint, every_s=float(NEVER)),
        budget=replace(config.budget, minutes=float(NEVER), decisions=0, updates=0),
        opponents=replace(opponents, snapshot_every=min(opponents.snapshot_every, SNAPSHOT_EVERY)),
    )


class TrialMeasurement:
    """Observes a run, and decides when it has started, is warm and has been measured for long enough."""

    def __init__(
        self,
        order: TrialOrder,
        metrics: Metrics,
        resources: ExitStack,
        tell: Callable[[TrialProgress], None],
        clock_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._order = order
        self._metrics = metrics
        self._resources = resources
        self._tell = tell
        self._clock_s = clock_s
        self._phase: Phase = "starting"
        self._phase_s = 0.0
        self._first = self._last = _Mark(0, 0, 0, 0, 0)
        self._lags: list[float] = []
        self._times = Times()
        self._use: TreeUse | None = None
        self._gpu: GpuWatch | None = None

    def __enter__(self) -> TrialMeasurement:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def is_complete(self) -> bool:
        return self._phase == "ending"

    def on_progress(self, numbers: Numbers) -> None:
        mark, now_s = _mark(numbers), self._clock_s()
        in_phase_s = now_s - self._phase_s
        if self._phase == "starting" and mark.updates:
            self._enter("warming up", now_s)
        elif self._phase == "warming up" and in_phase_s >= self._order.warm_s:
            self._begin(mark)
            self._enter("measuring", now_s)
        elif self._phase == "measuring":
            self._note(mark, numbers)
            if self._suffices(in_phase_s, mark):
                self._times.add(self._metrics.times())
                self._enter("ending", now_s)
        self._tell(TrialProgress(self._phase, self._rate()))

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Do nothing: nothing is evaluated."""

    def trial(self, hosts: int) -> TrainingTrial:
        """Return what was measured. Call it once, after the training."""
        first, last, use, due = self._first, self._last, self._use, self._order.due
        assert use is not None
        return TrainingTrial(
            configuration=due.configuration,
            round=due.round,
            repeat=due.repeat,
            decisions=int(last.learned - first.learned),
            updates=int(last.updates - first.updates),
            seconds=last.training_s - first.training_s,
            hosts=hosts,
            lag=statistics.fmean(self._lags) if self._lags else 0.0,
            voided=int(last.voided - first.voided),
            restarts=int(last.restarts - first.restarts),
            cpu_mean_cores=use.cpu_mean_cores,
            cpu_peak_cores=use.cpu_peak_cores,
            ram_mib=use.ram_peak_mib,
            gpu=None if self._gpu is None else self._gpu.use(),
            times=self._times,
        )

    def _suffices(self, in_phase_s: float, mark: _Mark) -> bool:
        updates = mark.updates - self._first.updates
        needed = FEWEST_UPDATES if in_phase_s < PATIENCE * self._order.measure_s else 1
        return in_phase_s >= self._order.measure_s and updates >= needed

    def _enter(self, phase: Phase, now_s: float) -> None:
        self._phase, self._phase_s = phase, now_s

    def _begin(self, mark: _Mark) -> None:
        self._first = self._last = mark
        self._metrics.restore({})  # discards the activity times so far
        self._gpu = self._resources.enter_context(watching_gpus(self._order.gpus))
        self._use = TreeUse(ignored=self._gpu.pid)

    def _note(self, mark: _Mark, numbers: Numbers) -> None:
        self._last = mark
        if names.LAG in numbers:
            self._lags.append(text.number(numbers, names.LAG))
        if self._use is not None:
            self._use.sample()

    def _rate(self) -> float:
        seconds = self._last.training_s - self._first.training_s
        return (self._last.learned - self._first.learned) / seconds if seconds > 0 else 0.0


def _mark(numbers: Numbers) -> _Mark:
    def total(name: str) -> float:
        value = numbers.get(name, 0.0)
        return value if isinstance(value, int | float) else 0.0

    return _Mark(
        total(names.TRAINING_S),
        total(names.LEARNED),
        total(names.UPDATES),
        total(names.VOIDED),
        total(names.HOSTS_RESTARTS),
    )
