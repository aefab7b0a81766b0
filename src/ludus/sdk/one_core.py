"""Keeps the threads of a host on one core while they need no more.

Threads of one interpreter take turns, and matches that wait hand over thousands of times a second. On one core that
costs half of what it costs across two, where the next thread is woken on another core and finds the interpreter locked.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

PERIOD_S = 0.5
FITS = 0.75  # of a core's time used: the host is put on one
FULL = 0.9  # the host might use more, as with steps that compute outside of the interpreter: it is let go


def fits(used: float, *, confined: bool) -> bool:
    """Whether one core is enough, by the cores used lately."""
    return used < (FULL if confined else FITS)


class OneCore:
    """For a process that a fleet started, which tells it which of its hosts it is; elsewhere, and where Linux does not
    say which processes a process has started, it does nothing. A host whose game starts processes of its own keeps all
    cores, for they would be on the same one."""

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
    """For all threads of a process, and of those it has started: these have inherited what it was allowed."""
    for thread in _threads(pid):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            os.sched_setaffinity(int(thread.name), cores)
    for child in _children(pid) or ():
        _allow(child, cores)


def _children(pid: int) -> list[int] | None:
    """None: the system does not say."""
    pids: list[int] = []
    for thread in _threads(pid):
        try:
            pids += map(int, (thread / "children").read_text().split())
        except FileNotFoundError:
            if thread.exists():
                return None
        except OSError:  # as above
            pass
    return pids


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
