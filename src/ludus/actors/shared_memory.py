"""The memory that learner and actor share: the newest weights, then slabs for batches.

It is a file without a name, so that nothing is left behind however the processes end. (multiprocessing.shared_memory
leaves segments in /dev/shm after kill -9, and its resource tracker unlinks them while the other process still reads.)
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path

import psutil

from ludus.errors import ConfigError
from ludus.policies.weights import WeightsBoard
from ludus.rollout.segments import SegmentLayout

PAGE = 4096
CONTAINER = Path("/sys/fs/cgroup")  # memory.max and memory.current there are this container's, where it has a limit


def anonymous_file() -> int:
    """The descriptor of an empty file without a name, which a child may inherit."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ludus", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def free_bytes(container: Path = CONTAINER) -> int:
    """What this machine, or the container in which this runs, may still take."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return free
    return max(0, min(free, limit - used))


class SharedMemory:
    """One side's view of it. The side that `create`s gives the file its size; the other opens it afterwards.

    Raises ConfigError when so many slabs would not fit into what is free.
    """

    def __init__(self, descriptor: int, floats: int, layout: SegmentLayout, slabs: int, *, create: bool) -> None:
        board = _pages(WeightsBoard.nbytes(floats))
        slab = _pages(layout.nbytes)
        if create:
            _refuse_too_many(slabs, slab, free_bytes())
            os.ftruncate(descriptor, board + slabs * slab)
        memory = memoryview(mmap.mmap(descriptor, board + slabs * slab))
        self.board = WeightsBoard(memory[: WeightsBoard.nbytes(floats)])
        self.slabs = [layout.over(memory[board + at * slab :][: layout.nbytes]) for at in range(slabs)]


def _refuse_too_many(slabs: int, nbytes: int, free: int) -> None:
    """Pages are taken when they are written: too many of them would end the run in its midst."""
    if slabs * nbytes > free:
        raise ConfigError(
            f"rollout.queue: {slabs} batches of {nbytes / 2**20:,.0f} MiB, with the one at work, are more than the "
            f"{free / 2**20:,.0f} MiB that are free here; a shorter queue or smaller batches (learner.decisions) fit"
        )


def _pages(nbytes: int) -> int:
    return (nbytes + PAGE - 1) // PAGE * PAGE
