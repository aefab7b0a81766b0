"""Who keeps a core for how long, read back from the kernel."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.running import Watch, small_run, train

from ludus.config.settings import FleetConfig
from ludus.metrics.observer import Numbers
from ludus.processes import scheduling
from ludus.run import reporting

SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}


def turns_ms(pid: int = 0) -> float | None:
    """How long it may keep a core; None where the kernel does not say."""
    number = SCHED_GETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return None
    attributes = (ctypes.c_uint64 * 7)()  # struct sched_attr: the fourth is sched_runtime
    if ctypes.CDLL(None).syscall(number, pid, ctypes.byref(attributes), ctypes.sizeof(attributes), 0):
        return None
    return attributes[3] / 1e6 or None


pytestmark = pytest.mark.skipif(turns_ms() is None, reason="Linux 6.12 and newer let a process choose")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_turns_change_and_nothing_else_does(sleeper: subprocess.Popen[bytes]) -> None:
    usual = turns_ms(sleeper.pid)
    os.setpriority(os.PRIO_PROCESS, sleeper.pid, 7)
    scheduling.wake_behind_others(sleeper.pid)
    scheduling.set_time_slice(scheduling.LONG_S, sleeper.pid)
    assert turns_ms(sleeper.pid) == pytest.approx(20)
    assert os.sched_getscheduler(sleeper.pid) == os.SCHED_BATCH
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 7
    scheduling.set_time_slice(scheduling.DEFAULT_S, sleeper.pid)
    assert turns_ms(sleeper.pid) == usual


def test_a_process_that_has_ended_is_no_error(sleeper: subprocess.Popen[bytes]) -> None:
    usual = turns_ms()
    sleeper.kill()
    sleeper.wait()
    scheduling.wake_behind_others(sleeper.pid)
    scheduling.set_time_slice(scheduling.LONG_S, sleeper.pid)
    assert turns_ms() == usual  # nor is the caller taken for it


def test_learner_and_hosts_keep_a_core_for_long_and_the_actor_gets_it_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Look(Watch):
        def on_progress(self, numbers: Numbers) -> None:
            super().on_progress(numbers)
            for actor in psutil.Process().children():
                if "ludus.actors.child" in actor.cmdline():  # the others are hosts of an evaluation
                    seen.add((turns_ms(), turns_ms(actor.pid), *(turns_ms(host.pid) for host in actor.children())))

    seen: set[tuple[float | None, ...]] = set()
    usual = turns_ms()
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.0)
    train(small_run(3, mode="overlapped", fleet=FleetConfig(hosts=2, matches=8)), tmp_path, observer=Look())
    assert seen == {(20, 1, 20, 20)}
    assert turns_ms() == usual
