"""A learner on a node: its process, and what the machine of the user shows and passes on."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from ludus.actors import learner_process, placed_learner
from ludus.actors.learner_process import LearnerProcess
from ludus.errors import ClusterLost, SetupError

PATIENCE_S = 20.0
ENDLESS = "import time; print('begun', flush=True); time.sleep(600)"


class Here:
    """Places a learner's process in this process, as Ray places it on a node."""

    def __init__(self, *, shared: bool = True, where: Callable[[], str] = lambda: "10.0.0.1") -> None:
        self.process = LearnerProcess()
        self._pool = ThreadPoolExecutor(4)
        self._methods: dict[str, Any] = {"where": where}  # Any: functions
        if not shared:
            self._methods["sees"] = lambda path: False
        self.ended = False

    def ask(self, method: str, *values: object) -> Future[Any]:  # Any: as in the protocol
        return self._pool.submit(self._methods.get(method) or getattr(self.process, method), *values)

    def is_final(self, error: BaseException) -> bool:
        return not isinstance(error, TimeoutError)

    def end(self) -> None:
        self.ended = True


@pytest.fixture(autouse=True)
def _ludus_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_process, "LUDUS", (sys.executable, "-c"))
    monkeypatch.setattr(placed_learner, "TICK_S", 0.01)


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "import time" in " ".join(each.cmdline())]


def test_output_and_exit_code_arrive_and_the_folder_stays_as_it_was(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    here = Here()
    program = "import os, sys; print(os.environ['LUDUS_TEST']); sys.stderr.write('table'); sys.exit(3)"
    assert placed_learner.train(here, [program], tmp_path / "run", {"LUDUS_TEST": "lines"}) == 3
    output = capfdbinary.readouterr().out
    assert output.startswith(b"ludus: the learner runs on node 10.0.0.1\n")
    assert b"lines\n" in output
    assert b"table" in output
    assert here.ended
    assert list((tmp_path / "run").iterdir()) == []


def test_signals_are_passed_on_and_the_run_ends_as_the_node_says(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time; signal.signal(signal.SIGINT, lambda *a: sys.exit(130)); "
        "open(sys.argv[1], 'w').close(); time.sleep(600)"
    )
    ready = tmp_path / "ready"

    def interrupt() -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not ready.exists() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert placed_learner.train(Here(), [program, str(ready)], tmp_path, {}) == 130
    thread.join()


def test_second_interrupt_is_no_loss(tmp_path: Path) -> None:
    program = "import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2)"
    assert placed_learner.train(Here(), [program], tmp_path, {}) == 130


def test_killed_process_and_a_lost_node_are_losses_of_the_cluster(tmp_path: Path) -> None:
    here = Here()
    killer = threading.Thread(target=lambda: _first(children).kill())
    killer.start()
    with pytest.raises(ClusterLost, match=r"on node 10\.0\.0\.1 was ended by signal 9"):
        placed_learner.train(here, [ENDLESS], tmp_path, {})
    killer.join()

    class Lost(LearnerProcess):
        def output(self, timeout_s: float) -> tuple[bytes, int | None]:
            raise ConnectionError("the actor died because its node has died")

    here.process = Lost()
    with pytest.raises(ClusterLost, match="is lost: the actor died because its node has died"):
        placed_learner.train(here, ["pass"], tmp_path, {})


def test_node_that_is_out_of_reach_for_a_moment_is_not_lost(tmp_path: Path) -> None:
    class Unreachable(LearnerProcess):
        calls = 0

        def output(self, timeout_s: float) -> tuple[bytes, int | None]:
            self.calls += 1
            if self.calls < 3:
                raise TimeoutError
            return super().output(timeout_s)

    here = Here()
    here.process = Unreachable()
    assert placed_learner.train(here, ["import sys; sys.exit(4)"], tmp_path, {}) == 4


def test_node_that_does_not_answer_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed_learner, "SILENCE_S", 0.3)

    class Silent(LearnerProcess):
        def output(self, timeout_s: float) -> tuple[bytes, int | None]:
            time.sleep(1.0)
            return b"", None

    here = Here()
    here.process = Silent()
    with pytest.raises(ClusterLost, match=r"has not answered for 0\.3 s"):
        placed_learner.train(here, ["pass"], tmp_path, {})


def test_node_without_the_folder_and_a_cluster_without_room_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(placed_learner.Unshared, match=r"node 10\.0\.0\.1 does not have the folder"):
        placed_learner.train(Here(shared=False), ["pass"], tmp_path, {})
    monkeypatch.setattr(placed_learner, "WAITING_S", 0.01)
    monkeypatch.setattr(placed_learner, "ROOM_S", 0.1)

    def never() -> str:
        time.sleep(1.0)
        return ""

    with pytest.raises(SetupError, match="no node had a free GPU"):
        placed_learner.train(Here(where=never), ["pass"], tmp_path, {})
    assert b"the learner waits for a node with a free GPU" in capfdbinary.readouterr().out


def _first(processes: Callable[[], list[psutil.Process]]) -> psutil.Process:
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := processes()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return found[0]
