"""The life of an actor, with processes that are told by the test when to die (tests/fake_actor.py)."""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import psutil
import pytest
from tests import fake_actor
from tests.running import PATIENCE_S, small_run

from ludus.actors import process, saved_actors, supervised
from ludus.actors.control import LENGTH, ActorFailed, ActorReady, Filled, Message, MetricsMessage, Saved
from ludus.actors.in_flight import ActorState
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.actors.supervised import ActorPhase, SupervisedActor
from ludus.config.seed_streams import restarted, seed_for
from ludus.config.settings import FleetConfig, OpponentsConfig
from ludus.errors import ConfigError, FleetError, TrainingError
from ludus.league.matchmaking import SharedMatchmaker
from ludus.metrics import accounts, names
from ludus.metrics.core import Delta, Metrics
from ludus.policies.checkpoints.checkpoint import note_game
from ludus.spec import GameSpec, ObsSpec

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (2,))}), 1)
STATE = ActorState("", SharedMatchmaker(OpponentsConfig(), teams=(0,), scripted=(), seed=1).state())
WEIGHTS = np.zeros(2, np.float32)
HELLO = ActorReady(note_game(SPEC), {}, 2)
Step = str | Message


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()
    before, children = psutil.Process().num_fds(), set(psutil.Process().children(recursive=True))
    yield
    gc.collect()  # errors keep what their tracebacks see, such as mapped memory
    assert set(psutil.Process().children(recursive=True)) <= children
    assert psutil.Process().num_fds() == before


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the steps of each process in turn; the last plan is that of all later processes, too."""

    def plan(*plans: list[Step]) -> None:
        left = list(plans)

        def command(control_fd: int, memory_fd: int) -> list[str]:
            steps = left.pop(0) if len(left) > 1 else left[0]
            encoded = json.dumps([step if isinstance(step, str) else {"send": _frame(step).hex()} for step in steps])
            return [sys.executable, "-I", "-S", fake_actor.__file__, encoded, str(control_fd), str(memory_fd)]

        monkeypatch.setattr(process, "command", command)

    return plan


def _frame(message: Message) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def fleet(**changes: object) -> FleetConfig:
    return msgspec.structs.replace(FleetConfig(hosts=2, matches=8, backoff_s=0.001, failures_in_a_row=5), **changes)


def actor(folder: Path, metrics: Metrics, **changes: object) -> SupervisedActor:
    config = small_run(mode="overlapped", fleet=fleet(**changes))
    return SupervisedActor(resolve(config), folder, metrics, pool=[], state=None)


def opened_actor(folder: Path, metrics: Metrics, **changes: object) -> SupervisedActor:
    opened = actor(folder, metrics, **changes)
    opened.open()
    until(opened, lambda: opened.spec is not None)
    return opened


def source(folder: Path, metrics: Metrics, **changes: object) -> AbstractContextManager[ActorSource]:
    return ActorSource([actor(folder, metrics, **changes)], metrics).opened()


def until(actor: SupervisedActor, holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        actor.poll(0.05)


def test_killed_actor_is_started_again_and_its_losses_are_counted(
    tmp_path: Path, plays: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    report = MetricsMessage(Delta(counters={names.BEGUN: 11, names.MATCHES: 3}), recorded=37)
    plays(["read", HELLO, "read", report, "die"], ["read", HELLO, Filled(0, STATE), "obey"])
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        opened.start(WEIGHTS, 0)
        assert opened.next(lambda: False) is not None
    assert metrics.counter(names.ACTOR_RESTARTS) == 1
    assert metrics.counter(names.VOIDED) == metrics.counter(names.VOIDED_BY(accounts.ACTOR)) == 8
    assert metrics.counter(names.ACTOR_LOST) == 37
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "was killed by signal 9 (SIGKILL); 8 matches and about 37 recorded decisions are lost; starting it" in line
    assert f"its log is {tmp_path / 'logs' / 'actor.log'}" in line


def test_batches_of_a_dead_actor_are_learned_from_and_not_written_to(
    tmp_path: Path, plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    sent = process.ActorProcess.send

    def send(self: process.ActorProcess, message: object) -> None:
        begun.append(message)
        sent(self, message)  # type: ignore[arg-type]  # it is one of the messages

    monkeypatch.setattr(process.ActorProcess, "send", send)
    plays(["read", HELLO, "read", Filled(0, STATE), Filled(1, STATE), "die"], ["read", HELLO, "obey"])
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        opened.start(WEIGHTS, 7)
        assert opened.next(lambda: False) is not None
        (first,) = opened._actors
        until(cast(SupervisedActor, first), lambda: metrics.counter(names.ACTOR_RESTARTS) == 1)
        assert opened.next(lambda: False) is not None  # the second of the dead one
    begin, attach, again, attached = [
        message for message in begun if type(message).__name__ in ("Begin", "Attach", "PastSelves")
    ][:4]
    assert (attach.learner_buffers, attached.learner_buffers) == ([], [0, 1])  # type: ignore[attr-defined]  # they are Attach
    assert (begin.version, begin.state, begin.game) == (0, None, "")  # type: ignore[attr-defined]
    assert again.version == restarted(7, 1)  # type: ignore[attr-defined]
    assert (again.state, again.game) == (STATE, SPEC.fingerprint)  # type: ignore[attr-defined]


def test_restarted_actor_plays_matches_that_nobody_has_played() -> None:
    numbers = [*range(5), *(restarted(version, number) for version in range(5) for number in range(1, 4))]
    assert len({seed_for(1, "fleet", number) for number in numbers}) == len(numbers)


def test_actor_that_dies_again_and_again_without_a_batch_ends_the_run(
    tmp_path: Path, plays: Callable[..., None]
) -> None:
    plays(["read", HELLO, "read", "die"])
    metrics = Metrics()
    with source(tmp_path, metrics, failures_in_a_row=3) as opened:
        opened.start(WEIGHTS, 0)
        for _ in range(2):  # and every later call says so again
            with pytest.raises(TrainingError, match=r"the actor \(pid \d+\) was killed by signal 9 .*; its log is "):
                opened.next(lambda: False)
    assert metrics.counter(names.ACTOR_RESTARTS) == 2


def test_twenty_restarts_leave_no_process_descriptor_or_memory(tmp_path: Path, plays: Callable[..., None]) -> None:
    plays(["read", HELLO, "read", Filled(0, STATE), "die"])
    metrics = Metrics()
    with source(tmp_path, metrics, failures_in_a_row=2) as opened:
        opened.start(WEIGHTS, 0)
        counts = []
        for _ in range(21):
            assert opened.next(lambda: False) is not None
            counts.append(psutil.Process().num_fds())
            opened.release()
        assert max(counts) <= min(counts) + 1  # the channel of a process that is still alive
    assert metrics.counter(names.ACTOR_RESTARTS) >= 20


def test_silent_actor_is_killed_and_started_again(
    tmp_path: Path, plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervised, "SILENCE_S", 0.3)
    plays(["read", HELLO, "hang"], ["read", HELLO, Filled(0, STATE), "obey"])
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        opened.start(WEIGHTS, 0)
        assert opened.next(lambda: False) is not None
    assert "sent nothing for 0 s" in caplog.text
    assert metrics.counter(names.ACTOR_RESTARTS) == 1


def test_error_that_an_actor_reports_ends_the_run_and_an_unexpected_one_does_not(
    tmp_path: Path, plays: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    plays(
        ["read", HELLO, "read", ActorFailed("", "ZeroDivisionError: division by zero")],
        ["read", HELLO, "read", ActorFailed("FleetError", "no host is left")],
    )
    with source(tmp_path, Metrics()) as opened:
        opened.start(WEIGHTS, 0)
        for _ in range(2):
            with pytest.raises(FleetError, match="no host is left"):
                opened.next(lambda: False)
    assert "failed: ZeroDivisionError: division by zero" in caplog.text


def test_hosts_that_cannot_start_under_a_restarted_actor_are_tried_again(
    tmp_path: Path, plays: Callable[..., None]
) -> None:
    """As with a host that is started again: its server may be away for a moment."""
    plays(
        ["read", HELLO, "read", MetricsMessage(Delta(counters={names.BEGUN: 16})), "die"],
        ["read", ActorFailed("HostRefused", "connection refused")],
        ["read", HELLO, Filled(0, STATE), "obey"],
    )
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        opened.start(WEIGHTS, 0)
        assert opened.next(lambda: False) is not None
    assert metrics.counter(names.ACTOR_RESTARTS) == 2
    assert metrics.counter(names.VOIDED) == 16  # of the first one


@pytest.mark.parametrize(
    ("failed", "error"),
    [(ActorFailed("ConfigError", "options.x"), ConfigError), (ActorFailed("", "ImportError: torch"), TrainingError)],
)
def test_failure_at_the_first_start_ends_the_run_at_once(
    tmp_path: Path, plays: Callable[..., None], failed: ActorFailed, error: type[Exception]
) -> None:
    plays(["read", failed])
    with pytest.raises(error), source(tmp_path, Metrics()):
        pass


def test_actor_killed_at_its_first_start_is_started_again(tmp_path: Path, plays: Callable[..., None]) -> None:
    plays(["die"], ["read", HELLO, "obey"])
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        assert opened.spec == SPEC
    assert metrics.counter(names.ACTOR_RESTARTS) == 1
    assert metrics.counter(names.VOIDED) == 0


def test_interrupted_start_ends_an_actor_that_does_not_listen_at_once(
    tmp_path: Path, plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plays(["hang"])
    polls = iter([True, True])

    def poll(self: SupervisedActor, timeout_s: float) -> bool:
        if next(polls, None) is None:
            raise KeyboardInterrupt
        return polled(self, timeout_s)

    polled = SupervisedActor.poll
    monkeypatch.setattr(SupervisedActor, "poll", poll)
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt), source(tmp_path, Metrics()):
        pass
    assert time.monotonic() - began_s < supervised.STOP_S / 2


def test_saving_while_the_actor_is_dead_says_so_at_once(tmp_path: Path, plays: Callable[..., None]) -> None:
    plays(["read", HELLO, "read", "die"], ["hang"])
    opened = opened_actor(tmp_path, Metrics())
    try:
        opened.start(WEIGHTS, 0)
        until(opened, lambda: opened.phase is ActorPhase.STARTING)
        with pytest.raises(TrainingError, match="the actor died and has not restarted yet"):
            saved_actors.save_one(opened, tmp_path / "matches", PATIENCE_S)
    finally:
        opened.close()


def test_actor_that_dies_while_it_saves_does_not_end_the_run(tmp_path: Path, plays: Callable[..., None]) -> None:
    plays(["read", HELLO, "read", "read", "die"], ["read", HELLO, Filled(0, STATE), "obey"])
    with source(tmp_path, Metrics()) as opened:
        opened.start(WEIGHTS, 0)
        with pytest.raises(TrainingError, match="the actor died while it saved its matches"):
            opened.save(tmp_path / "matches")
        assert opened.next(lambda: False) is not None


def test_actor_that_does_not_answer_a_save_is_asked_once_and_killed_at_the_end(
    tmp_path: Path, plays: Callable[..., None]
) -> None:
    plays(["read", HELLO, "hang"])
    opened = opened_actor(tmp_path, Metrics())
    try:
        opened.start(WEIGHTS, 0)
        assert not saved_actors.save_one(opened, tmp_path / "matches", 0.2)
        began_s = time.monotonic()
        assert not saved_actors.save_one(opened, tmp_path / "matches", PATIENCE_S)
    finally:
        opened.close()
    assert time.monotonic() - began_s < supervised.STOP_S / 2


def test_late_answer_to_an_earlier_save_is_not_taken_for_the_present_one(
    tmp_path: Path, plays: Callable[..., None]
) -> None:
    path = tmp_path / "matches"
    late, error = Saved(str(path), 1), Saved(str(path), 2, 28, "No space left on device")
    plays(["read", HELLO, "read", "read", "read", MetricsMessage(Delta()), "read", late, error, "obey"])
    opened = opened_actor(tmp_path, Metrics())
    try:
        opened.start(WEIGHTS, 0)
        assert not saved_actors.save_one(opened, path, 0.2)
        opened.set_past([1])  # the fake reports when it has read this
        until(opened, lambda: opened._answers)
        with pytest.raises(OSError, match="No space left"):
            saved_actors.save_one(opened, path, PATIENCE_S)
    finally:
        opened.close()


def test_death_during_an_evaluation_is_noticed_when_the_run_catches_up(
    tmp_path: Path, plays: Callable[..., None]
) -> None:
    plays(
        ["read", HELLO, "read", MetricsMessage(Delta({names.MATCHES: 3})), "die"],
        ["read", HELLO, Filled(0, STATE), "obey"],
    )
    metrics = Metrics()
    with source(tmp_path, metrics) as opened:
        opened.start(WEIGHTS, 0)
        deadline_s = time.monotonic() + PATIENCE_S
        while not metrics.counter(names.ACTOR_RESTARTS):
            assert time.monotonic() < deadline_s
            opened.catch_up()
        opened.set_past([4])
        opened.publish(WEIGHTS, 1)
        opened.release()
        assert opened.next(lambda: False) is not None
    assert metrics.counter(names.MATCHES) == 3
