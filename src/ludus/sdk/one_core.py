"""Restricts the threads of a host to one core as long as they need no more. Used by `threads.ThreadRunner`.

Threads of one interpreter share its lock, and matches that wait pass it on thousands of times per second. On one core
that takes half the time: across cores, the next thread wakes on another core and has to wait for the lock.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

PERIOD_S = 0.5
FITS = 0.75  # the host is restricted if it uses less than this share of one core
FULL = 0.9  # it is released if it uses more than this share, since it might use several cores


def fits(used: float, *, confined: bool) -> bool:
    """Return whether one core is enough for a host that has used this many cores lately."""
    return used < (FULL if confined else FITS)


class OneCore:
    """Watches the CPU use of this process in a thread and restricts it to one core, or releases it.

    Does nothing unless a fleet started the process (the variable LUDUS_HOST) and Linux lists the children of a process.
    A host whose game starts processes keeps all cores, since its children would inherit the restriction.
    """

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        index = os.environ.get("LUDUS_HOST", "")
        if sys.platform != "linux" or not index.isdecimal() or _children(os.getpid()) is None:
            return
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) > 1:
            own = allowed[int(index) % len(allowed)]
            self._thread = threading.Thread(target=self._watch, args=(set(allowed), own), name="one core", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, allowed: set[int], own: int) -> None:
        confined = False
        wall_s, used_s = time.monotonic(), time.process_time()
        while not self._over.wait(self._period_s):
            before_s, wall_s = wall_s, time.monotonic()
            earlier_s, used_s = used_s, time.process_time()
            if _children(os.getpid()):
                _allow(os.getpid(), allowed)
                return
            confine = fits((used_s - earlier_s) / (wall_s - before_s), confined=confined)
            if confine != confined:
                confined = confine
                _allow(os.getpid(), {own} if confined else allowed)


def _allow(pid: int, cores: set[int]) -> None:
    """Let all threads of a process and of its descendants run on these cores."""
    for thread in _threads(pid):
        with suppress(OSError):  # the thread has ended, or belongs to another user
            os.sched_setaffinity(int(thread.name), cores)
    for child in _children(pid) or ():
        _allow(child, cores)


def _children(pid: int) -> list[int] | None:
    """Return the ids of the processes that a process has started; None if the system does not list them."""
    pids: list[int] = []
    for thread in _threads(pid):
        try:
            pids += map(int, (thread / "children").read_text().split())
        except FileNotFoundError:
            if thread.exists():
                return None
        except OSError:  # the thread has ended, or belongs to another user
            pass
    return pids


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
