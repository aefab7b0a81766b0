"""Real hosts of the toy game, each for a fraction of a second."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from tests.faulty.game import game as faulty
from tests.faulty.options import FaultyOptions

from ludus.config.settings import ServersConfig
from ludus.diagnostics.measure import measure
from ludus.diagnostics.scaling import FleetSize, StudyPlan, Trial
from ludus.errors import HostRefused
from ludus.games.registry import Served
from ludus.metrics import names
from ludus.metrics.times import ACTOR


def played(tmp_path: Path, servers: int = 0, **options: Any) -> Trial:  # Any: the options of the toy game
    plan = StudyPlan(
        game="faulty",
        options={},
        fleet={"failures_in_a_row": 1},
        seed=1,
        policy="random",
        hosts=(1,),
        matches=(4,),
        repeats=1,
        budget_s=0.8,
        min_matches=1,
        servers=(servers,) if servers else (),
    )
    toy = dataclasses.replace(faulty, serve=serve)
    [size] = plan.sizes
    return measure(
        plan,
        size,
        0,
        game=toy,
        options=FaultyOptions(**options),
        policy_of=toy.scripted["random"],
        log_dir=tmp_path / "logs" / "1",
    )


def test_a_trial_counts_what_was_played_and_what_it_cost(tmp_path: Path) -> None:
    trial = played(tmp_path)
    assert trial.size == FleetSize(1, 4)
    assert trial.state == "completed"
    assert trial.done >= trial.min_matches == 4
    assert trial.decisions > trial.done
    assert 0.55 <= trial.seconds < 5.0
    assert trial.start_s > 0
    assert trial.ram_mib > trial.memory_delta_mib > 5
    actor = [line.share for line in trial.times.lines() if line.process == ACTOR]
    assert sum(actor) == pytest.approx(1.0)
    assert trial.times.walls[ACTOR] / 1e9 == pytest.approx(trial.seconds, rel=0.2)
    assert trial.times.share(names.WAIT_HOSTS) > 0
    assert trial.cpu_peak_cores >= trial.cpu_mean_cores > 0
    assert trial.gpu is None
    assert not (tmp_path / "logs").exists()


@contextmanager
def serve(options: FaultyOptions, servers: ServersConfig, folder: Path) -> Iterator[Served]:
    """Programs that hold 30 MiB each and do nothing."""
    command = [sys.executable, "-c", "x = bytearray(30 << 20); print(flush=True); input()"]
    running = [subprocess.Popen(command, stdin=PIPE, stdout=PIPE) for _ in range(servers.count)]
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        yield Served(options, lambda: [process.pid for process in running])
    finally:
        for process in running:
            process.kill()
            process.communicate()


def test_what_servers_take_is_told_apart(tmp_path: Path) -> None:
    trial = played(tmp_path, servers=2)
    assert trial.size == FleetSize(1, 4, 2)
    assert 60 < trial.servers_ram_mib < trial.ram_mib
    assert trial.servers_cpu_mean_cores < trial.cpu_mean_cores
    alone = played(tmp_path)
    assert (alone.servers_ram_mib, alone.servers_cpu_mean_cores) == (0.0, 0.0)


def test_truncated_matches_are_counted(tmp_path: Path) -> None:
    trial = played(tmp_path, truncate_after=1)
    assert trial.truncated == trial.done > 0


def test_a_fleet_that_breaks_down_is_a_failed_trial_with_its_reason_and_log(tmp_path: Path) -> None:
    trial = played(tmp_path, crash_after=20)
    assert trial.state == "failed"
    assert "no host is left to play on: host 0 exited with status 3" in trial.failure
    assert list((tmp_path / "logs").rglob("*"))


def test_hosts_that_hang_do_not_hold_the_trial_up(tmp_path: Path) -> None:
    trial = played(tmp_path, hang_after=4)
    assert trial.state == "timed out"
    assert (trial.done, trial.decisions) == (0, 0)
    assert trial.seconds < 5.0


def test_what_a_host_refuses_stops_the_benchmark(tmp_path: Path) -> None:
    with pytest.raises(HostRefused):
        played(tmp_path, pile=-1)
