"""The activities of every process of a run sum to its wall-clock time, also after the run is resumed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.running import Watch, small_run, train

from ludus.config.settings import BudgetConfig, FleetConfig, RunConfig
from ludus.metrics import names, times
from ludus.metrics.times import ACTOR, HOSTS, LEARNER, OTHER, RunTimes, Times

SECONDS = 1.5  # of training: hosts speak of their time twice a second


def config(mode: str, seconds: float) -> RunConfig:
    fleet = FleetConfig(hosts=1, matches=8)
    return small_run(mode=mode, fleet=fleet, budget=BudgetConfig(minutes=seconds / 60))


def kept(run_dir: Path) -> RunTimes:
    found = times.read(run_dir)
    assert found is not None
    return found


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_the_activities_of_every_process_sum_to_its_time(tmp_path: Path, mode: str) -> None:
    watch = Watch()
    began_s = time.monotonic()
    train(config(mode, SECONDS), tmp_path, observer=watch)
    spent_s = time.monotonic() - began_s
    first = kept(tmp_path).times
    assert set(first.walls) == {HOSTS, ACTOR, LEARNER}
    for process in first.walls:
        lines = [line for line in first.lines() if line.process == process]
        assert sum(line.share for line in lines) == pytest.approx(1.0, abs=1e-3)  # more: one activity within another
        assert next(line.share for line in lines if line.part == OTHER) < 0.5
    for activity in (
        names.HOST_SIMULATE,
        names.WAIT_HOSTS,
        names.POLICIES,
        names.SEGMENTS,
        names.UPDATE,
        names.EVALUATE,
    ):
        assert first.share(activity) > 0, activity
    assert SECONDS < first.walls[LEARNER] / 1e9 < spent_s
    assert float(watch.numbers[names.P95_MS(names.POLICIES)]) >= float(watch.numbers[names.P50_MS(names.POLICIES)]) > 0
    if mode == "serial":
        check_resumed(tmp_path, first)


def check_resumed(run_dir: Path, first: Times) -> None:
    train(config("serial", 2 * SECONDS), run_dir, resume=True, observer=Watch())
    second = kept(run_dir).times
    assert second.walls[LEARNER] > first.walls[LEARNER] + SECONDS * 1e9
    assert second.activities[names.POLICIES].passes > first.activities[names.POLICIES].passes
