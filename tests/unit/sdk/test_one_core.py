"""A host of threads stays on one core while that is enough."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ludus.sdk.one_core import FITS, FULL, fits

HOST = """
import os, subprocess, sys, threading, time
from ludus.sdk.one_core import OneCore

def cores(pid):
    return {len(os.sched_getaffinity(int(thread))) for thread in os.listdir(f"/proc/{pid}/task")}

def until(wanted):
    end_s = time.monotonic() + 10
    while not wanted() and time.monotonic() < end_s:
        time.sleep(0.01)
    return wanted()

every = len(os.sched_getaffinity(0))
waiter = threading.Event()
threading.Thread(target=waiter.wait, daemon=True).start()
one = OneCore(period_s=0.05)
one.begin()
print("confined", until(lambda: cores(os.getpid()) == {1}))
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print("with a child", until(lambda: cores(os.getpid()) == {every} and cores(child.pid) == {every}))
child.communicate(b"\\n")
one.close()
"""


def test_a_host_that_uses_little_fits_on_one_core_and_one_that_fills_it_does_not() -> None:
    assert fits(0.5, confined=False)
    assert fits(0.5, confined=True)
    between = (FITS + FULL) / 2
    assert not fits(between, confined=False)
    assert fits(between, confined=True)
    assert not fits(1.0, confined=True)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are kept on a core on Linux only")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core only")
def test_threads_are_on_one_core_until_the_game_starts_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOST],
        env={**os.environ, "LUDUS_HOST": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["confined True", "with a child True"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are kept on a core on Linux only")
def test_a_process_that_no_fleet_started_keeps_its_cores() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LUDUS_HOST"}
    code = (
        "import threading; from ludus.sdk.one_core import OneCore\n"
        "one = OneCore(); one.begin(); print(threading.active_count()); one.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "1\n"
