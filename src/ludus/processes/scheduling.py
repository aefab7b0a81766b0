"""What Linux's scheduler is told about a process. Elsewhere, and where it is not allowed, nothing happens.

Processes that share a core empty its caches for each other whenever they take turns. Those that compute for long (a
host, a learner) are better off with few and long turns; one whom they wait for (an actor) with a short one at once.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress

LONG_S = 0.020  # some seven times Linux's default
SHORT_S = 0.001  # shorter than that default: wakes up in front of whoever asked for more
DEFAULT_S = 0.0

SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # glibc has no function for it


class _Attributes(ctypes.Structure):
    """struct sched_attr of linux/sched/types.h, as long as its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    )


def wake_behind_others(pid: int) -> None:
    """When it is woken, it does not take the core from whoever runs there. Sets its turns back to the default."""
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # it has ended already, or this is not allowed here
            os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


def set_time_slice(seconds: float, pid: int = 0) -> None:
    """How long it may keep a core that others want, too (0 is the calling thread). What it starts later inherits that.

    From Linux 6.12 on; older ones ignore it.
    """
    number = SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return
    with suppress(OSError):  # it has ended already
        attributes = _Attributes(
            size=ctypes.sizeof(_Attributes),
            policy=os.sched_getscheduler(pid),
            nice=os.getpriority(os.PRIO_PROCESS, pid),
            runtime_ns=round(seconds * 1e9),
        )
        ctypes.CDLL(None).syscall(number, pid, ctypes.byref(attributes), 0)  # where it is refused: nothing changes
