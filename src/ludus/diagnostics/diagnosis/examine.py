"""Runs the stages of a diagnosis one after the other. A stage that fails leaves its reason, and the others go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ludus.actors.resolved import ResolvedRun
from ludus.config.settings import RunConfig
from ludus.diagnostics.diagnosis import ceilings, computing, host_stages, record, remedies, trials
from ludus.diagnostics.diagnosis.clocks import machine_speed
from ludus.diagnostics.diagnosis.host_stages import Recordings
from ludus.diagnostics.diagnosis.record import Diagnosis, Measure
from ludus.diagnostics.tuning import TrainingTrial
from ludus.errors import HostRefused, LudusError
from ludus.league.pool import Pool
from ludus.metrics import bottleneck
from ludus.metrics.times import Times

Tell = Callable[[str], None]
"""Called with the name of each step before it begins."""


@dataclass(slots=True)
class Examination:
    """The measurements of one run. `folder` holds logs, and nothing is left in it of what was learned."""

    run: ResolvedRun
    folder: Path
    pool_folder: Path  # past selves of the run; need not exist
    diagnosis: Diagnosis
    seconds: float  # of each stage
    tell: Tell = lambda words: None
    minibatch_rates: dict[int, float] = field(default_factory=dict)
    trials: list[TrainingTrial] = field(default_factory=list)
    _speeds: list[float] = field(default_factory=list)

    def measure(self, stages: Sequence[str], gpus: str) -> None:
        """Measure these stages (of `record.STAGES`), and with all of them the whole run."""
        torch.set_num_threads(self.run.config.policy.threads)
        whole = set(stages) == set(record.STAGES)
        with self.run.game.served(self.run.options, self.run.config.servers, self.folder / "servers") as served:
            run = self.run.played_with(served.options)
            if "env" in stages:
                self._stage("env", "hosts without a policy", lambda: self._env(run))
            if {"inference", "learner", "transport"} & set(stages):
                self._without_hosts(run, stages)
        if whole or "gpu" in stages:
            self._stage("gpu" if not whole else "whole", "training", lambda: self._whole(gpus, whole=whole))
        self.diagnosis.measures[record.MACHINE] = Measure("loops/s", "higher", tuple(self._speeds))

    def conclude(self) -> None:
        """Write verdict, ceilings and suggestions into the diagnosis."""
        diagnosis = self.diagnosis
        model = ceilings.model_of(diagnosis)
        diagnosis.verdict = ceilings.verdict(diagnosis, model)
        if model is not None:
            diagnosis.ceilings = model.ceilings()
            config: RunConfig = self.run.config
            diagnosis.suggestions = remedies.suggestions(diagnosis, model, config, self.minibatch_rates)
        total = Times()
        for trial in self.trials:
            total.add(trial.times)
        sentence = bottleneck.of_times(
            total, hosts=diagnosis.hosts, cores=diagnosis.machine.cores, actors=diagnosis.actors
        )
        if sentence:
            diagnosis.verdict.append(f"While it trained: {sentence}")

    def clean(self) -> None:
        """Remove the folders of logs and trials, unless a stage failed: then they have the reasons."""
        if not self.diagnosis.failures:
            for name in ("logs", "servers", "trials"):
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def _env(self, run: ResolvedRun) -> None:
        measures, _ = host_stages.hosts_alone(run, self.folder / "logs" / "env", self.seconds)
        self.diagnosis.measures |= measures

    def _without_hosts(self, run: ResolvedRun, stages: Sequence[str]) -> None:
        played: list[Recordings] = []
        self._stage("playing", "hosts and policy", lambda: played.append(self._playing(run)))
        if not played:
            return
        [recordings] = played
        if "inference" in stages:
            self._stage("inference", "the policy on recorded rows", lambda: self._inference(run, recordings))
        if "learner" in stages:
            self._stage("learner", "updates on recorded batches", lambda: self._learner(run, recordings))
        if "transport" in stages:
            self._stage("transport", "copies between processes", lambda: self._transport(run, recordings))

    def _playing(self, run: ResolvedRun) -> Recordings:
        pool = Pool(self.pool_folder, run.config.opponents.pool)
        measures, _, recordings = host_stages.hosts_and_policy(
            run, lambda spec: computing.policy_of(run, spec), self.folder, pool, self.seconds
        )
        self.diagnosis.measures |= measures
        return recordings

    def _inference(self, run: ResolvedRun, recordings: Recordings) -> None:
        if not recordings.arrivals:
            raise LudusError("no batch of rows was recorded; a longer --seconds records some")
        measures, curve = computing.policy_alone(computing.policy_of(run, recordings.spec), recordings, self.seconds)
        self.diagnosis.measures |= measures
        self.diagnosis.curve = curve

    def _learner(self, run: ResolvedRun, recordings: Recordings) -> None:
        if not recordings.batches:
            raise LudusError(
                f"no batch of {run.config.learner.decisions:,} decisions was full in time; a longer --seconds fills one"
            )
        measures, self.minibatch_rates = computing.learner_alone(run, recordings, self.seconds)
        self.diagnosis.measures |= measures

    def _transport(self, run: ResolvedRun, recordings: Recordings) -> None:
        floats = computing.policy_of(run, recordings.spec).weights.vector.numel()
        self.diagnosis.measures |= computing.copies_alone(run, recordings, floats)

    def _whole(self, gpus: str, *, whole: bool) -> None:
        plan = trials.TrialPlan(self.run.config, self.folder / "trials", self.seconds, gpus)
        self.trials = trials.repeated(plan, trials.REPEATS if whole else 1, self.tell)
        measures = trials.measures(self.trials)
        self.diagnosis.measures |= measures if whole else {k: v for k, v in measures.items() if k.startswith("gpu/")}
        if not gpus:
            self.diagnosis.notes.append("No GPU: nvidia-smi lists none, so nothing was measured on one.")

    def _stage(self, name: str, words: str, measure: Callable[[], object]) -> None:
        self.tell(words)
        self._speeds += machine_speed().samples
        with self._failure_noted(name):
            measure()

    @contextmanager
    def _failure_noted(self, stage: str) -> Iterator[None]:
        """Note the reason if a stage fails. A refused configuration ends the diagnosis: all stages would fail."""
        try:
            yield
        except HostRefused:
            raise
        except (LudusError, OSError, MemoryError, RuntimeError) as error:  # RuntimeError: CUDA out of memory
            self.diagnosis.failures[stage] = record.plain(str(error)) or type(error).__name__
