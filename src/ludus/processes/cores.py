"""The number of CPU cores."""

from __future__ import annotations

import os


def cores() -> int:
    """Return the number of CPU cores that this process may use: those of its affinity mask, where there is one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
