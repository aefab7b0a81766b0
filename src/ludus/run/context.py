"""The components and the state of a run, shared by the files of this package only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ludus.actors.resolved import ResolvedRun
from ludus.actors.start import RunSource
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
    """The components of a run (or of one stage of it) and its present state."""

    run: ResolvedRun
    run_dir: Path
    source: RunSource
    metrics: Metrics
    observer: RunObserver
    algorithm: AnyAlgorithm
    learner: Learner
    pool: Pool
    course: Curriculum | None
    playing: bool = False  # True while training matches are running
    change: Change | None = None  # set when a stage of the curriculum has ended and another one begins
    scores: dict[str, float] = field(
        default_factory=dict
    )  # results of the latest evaluation by opponent: win rates, or mean rewards with one seat

    @property
    def config(self) -> RunConfig:
        return self.run.config

    @property
    def spec(self) -> GameSpec:
        return self.source.spec
