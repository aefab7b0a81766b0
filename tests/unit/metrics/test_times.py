from __future__ import annotations

import math
from pathlib import Path

import pytest

from ludus.metrics import names, times
from ludus.metrics.times import ACTOR, HOSTS, RunTimes, Times
from ludus.wire.durations import Durations

SECOND = 1_000_000_000


def some() -> Times:
    return Times(
        {ACTOR: 4.0 * SECOND, HOSTS: 8.0 * SECOND},
        {
            names.POLICIES: Durations.of([SECOND // 10] * 10),
            names.WAIT_HOSTS: Durations.of([SECOND // 100] * 100),
            names.HOST_SIMULATE: Durations.of([SECOND] * 8),
        },
    )


def test_lines_of_a_process_sum_to_its_wall_clock_with_what_is_left() -> None:
    lines = some().lines()
    assert [line.activity for line in lines] == [
        names.HOST_SIMULATE,
        names.HOST_OTHER,
        names.WAIT_HOSTS,
        names.POLICIES,
        names.ACTOR_OTHER,
    ]
    assert [line.share for line in lines] == pytest.approx([1.0, 0.0, 0.25, 0.25, 0.5])
    assert lines[3].mean_ms == pytest.approx(100)
    assert lines[3].p95_ms == pytest.approx(100, rel=0.13)
    assert math.isnan(lines[4].p50_ms)


def test_times_of_several_processes_of_a_kind_add_up() -> None:
    both = some()
    both.add(some())
    assert both.walls[ACTOR] == 8.0 * SECOND
    assert both.share(names.POLICIES) == pytest.approx(0.25)
    assert both.activities[names.POLICIES].passes == 20


def test_times_of_a_run_are_read_back_and_a_damaged_file_is_none(tmp_path: Path) -> None:
    assert times.read(tmp_path) is None
    run_times = RunTimes(some(), hosts=2, cores=4)
    times.write(tmp_path, run_times)
    assert times.read(tmp_path) == run_times
    path = tmp_path / times.ACTIVITIES_FILE
    path.write_bytes(path.read_bytes()[:50])
    assert times.read(tmp_path) is None


def test_times_of_a_run_of_an_older_version_are_read(tmp_path: Path) -> None:
    run_times = RunTimes(some(), hosts=2, cores=4)
    times.write(tmp_path, run_times)
    path = tmp_path / times.ACTIVITIES_FILE
    old = path.read_text().replace('"activities"', '"stages"').replace('"activity"', '"stage"')
    path.unlink()
    (tmp_path / times.STAGES_FILE).write_text(old)
    assert times.read(tmp_path) == run_times
