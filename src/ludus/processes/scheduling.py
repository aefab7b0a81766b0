"""Scheduling hints for Linux. On other systems, or without permission, these functions do nothing.

Every context switch costs cached data. Processes with long computations (hosts, learner) therefore request long time
slices. The actor, which both wait for, requests a short one, so that it is scheduled early.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress

LONG_S = 0.020  # about seven times Linux's default
SHORT_S = 0.001  # below the default, so that the process is scheduled before those with longer slices
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
    """Make a process not preempt others when it wakes up (SCHED_BATCH). Resets its time slice to the default."""
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # the process has ended, or this is not permitted
            os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))


def set_time_slice(seconds: float, pid: int = 0) -> None:
    """Request a time slice for a process (0 is the calling thread). Its later children inherit it.

    Requires Linux 6.12; older versions ignore it.
    """
    number = SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return
    with suppress(OSError):  # the process has ended
        attributes = _Attributes(
            size=ctypes.sizeof(_Attributes),
            policy=os.sched_getscheduler(pid),
            nice=os.getpriority(os.PRIO_PROCESS, pid),
            runtime_ns=round(seconds * 1e9),
        )
        ctypes.CDLL(None).syscall(number, pid, ctypes.byref(attributes), 0)  # if the kernel refuses, nothing changes
