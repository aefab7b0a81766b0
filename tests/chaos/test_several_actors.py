"""One of two actors dies, hangs or loses its hosts: the other one plays on, and the accounts of the matches add up."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from safetensors import safe_open
from tests.faulty import game as faulty
from tests.running import (
    ENDLESS,
    PATIENCE_S,
    Silent,
    Watch,
    counters,
    latest,
    running,
    small_run,
    train,
    with_updates,
)

from ludus.actors import supervised
from ludus.config.settings import ActorsConfig, CheckpointConfig, FleetConfig, OpponentsConfig, RunConfig
from ludus.errors import FleetError
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.policies.checkpoints import checkpoint
from ludus.run import RunResult, reporting

MATCHES = 2 * 2 * 8  # that run at once: actors, hosts, matches


@pytest.fixture(autouse=True)
def _progress_is_shown_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.05)


class Saboteur(Watch):
    """Acts once, when both actors have reported their matches. `goal` tells when the run may end."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act: Callable[[], None] | None = act
        self._ended = False

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        if self._act is not None and float(numbers.get(names.UNDER_WAY, 0)) > MATCHES / 2:
            act, self._act = self._act, None
            act()

    def end(self) -> None:
        """Interrupt the run, once."""
        if not self._ended:
            self._ended = True
            signal.raise_signal(signal.SIGTERM)


def config(updates: int = ENDLESS, **changes: object) -> RunConfig:
    fleet = FleetConfig(hosts=4, matches=8, backoff_s=0.01, failures_in_a_row=3)
    given = {"options": {"game": "nim"}, "fleet": fleet, "actors": ActorsConfig(count=2), **changes}
    return small_run(updates, mode="overlapped", **given)


def actors_of(process: psutil.Process) -> list[psutil.Process]:
    """The actors by their start."""
    actors = [child for child in process.children() if "ludus.actors.child" in child.cmdline()]
    return sorted(actors, key=lambda actor: actor.pid)


def assert_accounts_add_up(result: RunResult) -> None:
    """What is under way by the counters is what the checkpoint holds."""
    with safe_open(latest(result) / checkpoint.MATCHES, "np") as file:
        assert file.metadata()["actors"] == "2"
        saved = [name for name in file.keys() if name.startswith("actor-")]  # noqa: SIM118  it is no mapping
    assert saved == ["actor-0", "actor-1"]
    assert 0 < accounts.under_way(counters(result)) <= MATCHES


def test_killed_actor_is_started_again_while_the_other_plays_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saboteur = Saboteur(lambda: actors_of(psutil.Process())[1].kill())
    whole = config(80, opponents=OpponentsConfig(past=0.3, snapshot_every=3), checkpoint=CheckpointConfig(every_s=0.5))
    result = train(whole, tmp_path, observer=saboteur)
    counted = counters(result)
    assert counted[names.ACTOR_RESTARTS] == 1
    assert 0 < counted[names.VOIDED_BY("actor_died")] <= MATCHES / 2
    assert "actor 1 (pid" in caplog.text
    assert "was killed by signal 9 (SIGKILL)" in caplog.text
    again = train(with_updates(whole, 84), tmp_path, resume=True, observer=Silent())
    assert again.version == 84
    assert_accounts_add_up(again)


def test_stopped_actor_costs_its_own_matches_and_the_other_fills_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervised, "SILENCE_S", 3.0)
    updates: list[float] = []

    def stop() -> None:
        updates.append(float(saboteur.numbers[names.UPDATES]))
        actors_of(psutil.Process())[0].suspend()

    class Patient(Saboteur):
        def on_progress(self, numbers: Numbers) -> None:
            super().on_progress(numbers)
            if not float(numbers.get(names.ACTOR_RESTARTS, 0)) and updates:
                updates.append(float(numbers[names.UPDATES]))
            elif updates and numbers.get(names.ACTORS_PLAYING) == 2:
                self.end()

    saboteur = Patient(stop)
    result = train(config(), tmp_path, observer=saboteur)
    assert result.interrupted
    assert "actor 0 (pid" in caplog.text
    assert "sent nothing for 3 s; " in caplog.text
    assert updates[-1] > updates[0] + 10  # while the stopped one was silent
    assert_accounts_add_up(result)


@pytest.mark.parametrize("fault", ["kill", "suspend"])
def test_host_of_one_actor_costs_its_own_matches_only(tmp_path: Path, fault: str) -> None:
    fleet = FleetConfig(hosts=4, matches=8, backoff_s=0.01, reply_deadline_s=1.0)

    class Patient(Saboteur):
        def on_progress(self, numbers: Numbers) -> None:
            super().on_progress(numbers)
            if float(numbers.get(names.HOSTS_RESTARTS, 0)) and numbers.get(names.HOSTS_ALIVE) == 4:
                self.end()

    saboteur = Patient(lambda: getattr(actors_of(psutil.Process())[1].children()[0], fault)())
    result = train(config(fleet=fleet), tmp_path, observer=saboteur)
    counted = counters(result)
    reason = "died" if fault == "kill" else "hung"
    assert 0 < counted[names.VOIDED_BY(reason)] <= 8
    assert names.ACTOR_RESTARTS not in counted
    assert_accounts_add_up(result)


def test_interrupted_run_leaves_nothing_behind_and_continues_the_matches_of_both_actors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = config()
    with running(whole, tmp_path) as learner:
        family = psutil.Process(learner.pid).children(recursive=True)
        assert len(family) == 2 + 4
        learner.send_signal(signal.SIGINT)
        output, _ = learner.communicate(timeout=PATIENCE_S)
        assert psutil.wait_procs(family, timeout=PATIENCE_S)[1] == []
    version = int(output.strip().splitlines()[-1].split()[2])
    before = checkpoint.read_state(checkpoint.find(tmp_path)).counters
    again = train(with_updates(whole, version + 2), tmp_path, resume=True, observer=Silent())
    counted = counters(again)
    assert "matches begin anew" not in caplog.text
    assert names.BEGUN_ANEW not in counted
    assert counted.get(names.VOIDED, 0) == before.get(names.VOIDED, 0)
    assert_accounts_add_up(again)


def test_resume_with_another_number_of_actors_begins_new_matches_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = train(config(4), tmp_path, observer=Silent())
    lost = accounts.under_way(counters(first))
    other = with_updates(config(actors=ActorsConfig(count=1)), 6)
    with caplog.at_level(logging.WARNING):
        again = train(other, tmp_path, resume=True, observer=Silent())
    counted = counters(again)
    assert (counted[names.BEGUN_ANEW], counted[names.VOIDED_BY("anew")]) == (1, lost)
    assert 0 < accounts.under_way(counted) <= MATCHES
    assert caplog.text.count("is of 2 actors, the run now has 1; matches begin anew") == 1


def test_actor_without_hosts_is_given_up_and_the_last_one_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.install(tmp_path / "package", monkeypatch)
    crashing = msgspec.structs.replace(config(options={"game": "nim", "crash_after": 1}), game="faulty")
    with pytest.raises(FleetError, match="no host is left"):
        train(crashing, tmp_path / "run", observer=Silent())
    assert "the run goes on with 1 of 2 actors" in caplog.text
