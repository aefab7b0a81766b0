"""Where the time of a whole run went: the stages of every process sum to its wall-clock, and a resumed run goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ludus.config.schema import (
    BudgetConfig,
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RolloutConfig,
    RunConfig,
)
from ludus.metrics import names, times
from ludus.metrics.observer import Numbers, Result
from ludus.metrics.times import ACTOR, HOSTS, LEARNER, OTHER, RunTimes, Times
from ludus.run import train

SECONDS = 1.5  # of training: hosts speak of their time twice a second


class Watch:
    def __init__(self) -> None:
        self.numbers: dict[str, float | str] = {}

    def on_progress(self, numbers: Numbers) -> None:
        self.numbers.update(numbers)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


def config(mode: str, seconds: float) -> RunConfig:
    return RunConfig(
        game="toy",
        mode="serial" if mode == "serial" else "overlapped",
        device="cpu",
        fleet=FleetConfig(hosts=1, matches=8),
        policy=PolicyConfig(width=16),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=256, minibatch=128),
        opponents=OpponentsConfig(past=0.0, scripted=0.0),
        evaluation=EvaluationConfig(matches=4, quick_matches=4, every_updates=1_000_000_000),
        budget=BudgetConfig(minutes=seconds / 60),
    )


def kept(run_dir: Path) -> RunTimes:
    found = times.read(run_dir / times.STAGES_FILE)
    assert found is not None
    return found


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_the_stages_of_every_process_sum_to_its_time(tmp_path: Path, mode: str) -> None:
    watch = Watch()
    began_s = time.monotonic()
    train(config(mode, SECONDS), tmp_path, observer=watch)
    spent_s = time.monotonic() - began_s
    first = kept(tmp_path).times
    assert set(first.walls) == {HOSTS, ACTOR, LEARNER}
    for process in first.walls:
        lines = [line for line in first.lines() if line.process == process]
        assert sum(line.share for line in lines) == pytest.approx(1.0, abs=1e-3)
        assert next(line.share for line in lines if line.part == OTHER) < 0.5
    for stage in (names.HOST_SIMULATE, names.WAIT_HOSTS, names.POLICIES, names.SEGMENTS, names.UPDATE, names.EVALUATE):
        assert first.share(stage) > 0, stage
    assert SECONDS < first.walls[LEARNER] / 1e9 < spent_s
    assert float(watch.numbers[names.P95_MS(names.POLICIES)]) >= float(watch.numbers[names.P50_MS(names.POLICIES)]) > 0
    if mode == "serial":
        check_resumed(tmp_path, first)


def check_resumed(run_dir: Path, first: Times) -> None:
    train(config("serial", 2 * SECONDS), run_dir, resume=True, observer=Watch())
    second = kept(run_dir).times
    assert second.walls[LEARNER] > first.walls[LEARNER] + SECONDS * 1e9
    assert second.stages[names.POLICIES].passes > first.stages[names.POLICIES].passes
