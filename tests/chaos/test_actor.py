"""An actor that dies, hosts that die under it, a learner that is killed: the run goes on, nothing is left behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.faulty import game as faulty
from tests.running import ENDLESS, PATIENCE_S, Silent, Watch, counters, running, small_run, train, with_updates

from ludus.actors import supervised
from ludus.config.settings import CheckpointConfig, EvaluationConfig, FleetConfig, OpponentsConfig, RunConfig
from ludus.errors import FleetError
from ludus.metrics import names
from ludus.metrics.observer import Numbers
from ludus.policies.checkpoints import checkpoint
from ludus.run import reporting


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)


class Saboteur(Watch):
    """Acts once, between two updates, when a few have been made and the actor has reported its matches."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act: Callable[[], None] | None = act

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        reported = float(numbers.get(names.UNDER_WAY, 0)) > 0
        if self._act is not None and reported and float(numbers.get(names.UPDATES, 0)) >= 2:
            act, self._act = self._act, None
            act()


def config(updates: int = ENDLESS, **options: object) -> RunConfig:
    fleet = FleetConfig(hosts=2, matches=8, backoff_s=0.01, failures_in_a_row=2)
    return small_run(updates, mode="overlapped", options={"game": "nim", **options}, fleet=fleet)


def actor_of(process: psutil.Process) -> psutil.Process:
    return next(child for child in process.children() if "ludus.actors.child" in child.cmdline())


def test_killed_actor_is_started_again_and_the_run_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With all that happens in a run: past selves, evaluations, checkpoints; and the run can be resumed."""
    hosts: list[psutil.Process] = []

    def kill() -> None:
        actor = actor_of(psutil.Process())
        hosts.extend(actor.children())
        actor.kill()

    saboteur = Saboteur(kill)
    whole = msgspec.structs.replace(
        config(updates=40),
        opponents=OpponentsConfig(past=0.3, snapshot_every=3),
        evaluation=EvaluationConfig(matches=4, quick_matches=4, every_updates=20),
        checkpoint=CheckpointConfig(every_s=1.0),
    )
    result = train(whole, tmp_path, observer=saboteur)
    assert (result.version, result.checkpoint_failures) == (40, 0)
    counted = counters(result)
    assert counted[names.ACTOR_RESTARTS] == 1
    lost = int(counted[names.VOIDED_BY("actor_died")])
    assert 0 < lost <= 16
    assert f"was killed by signal 9 (SIGKILL); {lost} matches and about" in caplog.text
    assert len(hosts) == 2
    assert psutil.wait_procs(hosts, timeout=PATIENCE_S)[1] == []  # they died with their actor
    again = train(with_updates(whole, 42), tmp_path, resume=True, observer=Silent())
    assert again.version == 42
    assert names.BEGUN_ANEW not in counters(again)  # the matches of the second actor went on


def test_stopped_actor_is_found_silent_killed_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervised, "SILENCE_S", 4.0)
    saboteur = Saboteur(lambda: actor_of(psutil.Process()).suspend())
    assert train(config(updates=10), tmp_path, observer=saboteur).version == 10
    assert "sent nothing for 4 s; " in caplog.text


def test_run_with_an_actor_that_hangs_is_saved_and_left_within_seconds(tmp_path: Path) -> None:
    with running(config(), tmp_path) as learner:
        family = psutil.Process(learner.pid).children(recursive=True)
        actor_of(psutil.Process(learner.pid)).suspend()
        began_s = time.monotonic()
        learner.terminate()
        output, _ = learner.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began_s < 30.0
        assert psutil.wait_procs(family, timeout=PATIENCE_S)[1] == []
    last = output.strip().splitlines()[-1].split()
    assert last[:2] == ["interrupted", "True"]
    assert checkpoint.load_agent(tmp_path).version == int(last[2]) >= 2


def test_killed_host_costs_its_own_matches_only_and_training_goes_on(tmp_path: Path) -> None:
    saboteur = Saboteur(lambda: actor_of(psutil.Process()).children()[0].kill())
    result = train(config(updates=60), tmp_path, observer=saboteur)
    assert result.version == 60
    assert 0 < float(saboteur.numbers[names.VOIDED_BY("died")]) <= 8
    assert saboteur.numbers[names.HOSTS_RESTARTS] == 1


def test_error_that_ends_the_fleet_reaches_the_learner_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.install(tmp_path / "package", monkeypatch)
    crashing = msgspec.structs.replace(config(crash_after=1), game="faulty")
    with pytest.raises(FleetError, match="no host is left"):
        train(crashing, tmp_path / "run", observer=Silent())


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
