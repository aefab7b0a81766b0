"""An actor that dies, hosts that die under it, a learner that is killed: clear errors, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import psutil
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
from ludus.errors import FleetError, TrainingError
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.policies import checkpoint
from ludus.run import train

PATIENCE_S = 60.0


class Saboteur:
    """Acts once, between two updates, when a few have been made."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act
        self.numbers: dict[str, float | str] = {}

    def on_progress(self, numbers: Numbers) -> None:
        self.numbers.update(numbers)
        if self._act is not None and float(numbers.get(names.UPDATES, 0)) >= 2:
            act, self._act = self._act, None
            act()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


def config(updates: int = 1_000_000, **options: object) -> RunConfig:
    return RunConfig(
        game="toy",
        options={"game": "nim", **options},
        device="cpu",
        fleet=FleetConfig(hosts=2, matches=8, backoff_s=0.01, failures_in_a_row=2),
        policy=PolicyConfig(width=16),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=256, minibatch=128),
        opponents=OpponentsConfig(past=0.0, scripted=0.0),
        evaluation=EvaluationConfig(matches=4, every_updates=10_000_000),
        budget=BudgetConfig(minutes=0, updates=updates),
    )


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
        train(config(crash_after=1), tmp_path, observer=Saboteur(lambda: None))


def test_pool_that_cannot_be_written_is_counted_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pool").write_text("not a folder")
    opponents = OpponentsConfig(past=0.5, snapshot_every=1)
    changed = msgspec.structs.replace(config(updates=3), opponents=opponents)
    assert train(changed, tmp_path, observer=Saboteur(lambda: None)).checkpoint_failures >= 3


PROGRAM = """
import sys
from pathlib import Path
import msgspec
from ludus.config.schema import RunConfig
from ludus.run import train

class Tell:
    def on_progress(self, numbers):
        print("progress", numbers.get("progress/updates", 0), flush=True)
    def on_evaluation(self, results, *, final=False):
        pass

train(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=RunConfig), Path(sys.argv[2]), observer=Tell())
"""


def test_learner_killed_without_warning_takes_actor_and_hosts_with_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(msgspec.json.encode(config()))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "config.json"), str(tmp_path / "run")]
    learner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert learner.stdout is not None
    for line in learner.stdout:
        if line.startswith("progress") and float(line.split()[1]) >= 2:
            break
    family = psutil.Process(learner.pid).children(recursive=True)
    assert len(family) >= 3  # the actor and two hosts
    learner.kill()
    learner.communicate()
    _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
    assert alive == []


SECOND = """
import os, signal, sys, time
from ludus.run import _interrupts
with _interrupts() as interrupted:
    os.kill(os.getpid(), signal.SIGTERM)
    assert interrupted()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


def test_second_signal_ends_the_process_at_once() -> None:
    assert subprocess.run([sys.executable, "-c", SECOND], timeout=PATIENCE_S).returncode == -signal.SIGTERM
