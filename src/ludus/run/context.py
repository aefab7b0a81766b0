"""What a run is made of and how it stands: shared by the files of this package, and by nobody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ludus.actors.resolved import ResolvedRun
from ludus.actors.sources import OverlappedSource, SerialSource
from ludus.config.settings import RunConfig
from ludus.league.curriculum import Change, Curriculum
from ludus.league.pool import Pool
from ludus.learner.algorithms import AnyAlgorithm
from ludus.learner.loop import Learner
from ludus.metrics.core import Metrics
from ludus.metrics.observer import RunObserver
from ludus.spec import GameSpec


@dataclass(slots=True)
class RunContext:
    run: ResolvedRun
    run_dir: Path
    source: SerialSource | OverlappedSource
    metrics: Metrics
    observer: RunObserver
    algorithm: AnyAlgorithm
    learner: Learner
    pool: Pool
    course: Curriculum | None
    playing: bool = False  # matches are under way
    change: Change | None = None  # one stage has ended, the next is to begin
    scores: dict[str, float] = field(default_factory=dict)  # of the latest evaluation, by opponent

    @property
    def config(self) -> RunConfig:
        return self.run.config

    @property
    def spec(self) -> GameSpec:
        return self.source.spec
