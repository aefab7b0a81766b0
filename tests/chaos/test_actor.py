"""An actor that dies, hosts that die under it, a learner that is killed: clear errors, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.running import ENDLESS, PATIENCE_S, Silent, Watch, running, small_run

from ludus.config.schema import FleetConfig, OpponentsConfig, RunConfig
from ludus.errors import FleetError, TrainingError
from ludus.metrics import names
from ludus.metrics.observer import Numbers
from ludus.policies import checkpoint
from ludus.run import telling, train


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PROGRESS_S", 0.05)


class Saboteur(Watch):
    """Acts once, between two updates, when a few have been made."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act: Callable[[], None] | None = act

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        if self._act is not None and float(numbers.get(names.UPDATES, 0)) >= 2:
            act, self._act = self._act, None
            act()


def config(updates: int = ENDLESS, **options: object) -> RunConfig:
    fleet = FleetConfig(hosts=2, matches=8, backoff_s=0.01, failures_in_a_row=2)
    return small_run(updates, mode="overlapped", options={"game": "nim", **options}, fleet=fleet)


def actor_of(process: psutil.Process) -> psutil.Process:
    return next(child for child in process.children() if "ludus.scale.child" in child.cmdline())


def test_killed_actor_is_a_clear_error_and_the_weights_are_saved(tmp_path: Path) -> None:
    saboteur = Saboteur(lambda: actor_of(psutil.Process()).kill())
    with pytest.raises(TrainingError, match=r"the actor \(pid \d+\) was killed by signal 9; its log is .*actor.log"):
        train(config(), tmp_path, observer=saboteur)
    assert checkpoint.load_agent(tmp_path).version >= 2


def test_killed_host_costs_its_own_matches_only_and_training_goes_on(tmp_path: Path) -> None:
    saboteur = Saboteur(lambda: actor_of(psutil.Process()).children()[0].kill())
    result = train(config(updates=60), tmp_path, observer=saboteur)
    assert result.version == 60
    assert 0 < float(saboteur.numbers[names.VOIDED_BY("died")]) <= 8
    assert saboteur.numbers[names.HOSTS_RESTARTS] == 1


def test_error_that_ends_the_fleet_reaches_the_learner_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no host is left"):
        train(config(crash_after=1), tmp_path, observer=Silent())


def test_pool_that_cannot_be_written_is_counted_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pool").write_text("not a folder")
    opponents = OpponentsConfig(past=0.5, snapshot_every=1)
    changed = msgspec.structs.replace(config(updates=3), opponents=opponents)
    assert train(changed, tmp_path, observer=Silent()).checkpoint_failures >= 3


def test_learner_killed_without_warning_takes_actor_and_hosts_with_it(tmp_path: Path) -> None:
    with running(config(), tmp_path) as learner:
        family = psutil.Process(learner.pid).children(recursive=True)
        assert len(family) >= 3  # the actor and two hosts
        learner.kill()
        _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
    assert alive == []


SECOND = """
import os, signal, sys, time
from ludus.interrupts import noticed
with noticed() as interrupted:
    os.kill(os.getpid(), signal.SIGTERM)
    assert interrupted()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


def test_second_signal_ends_the_process_at_once() -> None:
    assert subprocess.run([sys.executable, "-c", SECOND], timeout=PATIENCE_S).returncode == -signal.SIGTERM
