"""The memory that learner and actor share: the newest weights, then the batch buffers.

It is an anonymous file, so that nothing is left behind however the processes end. (multiprocessing.shared_memory leaves
segments in /dev/shm after kill -9, and its resource tracker unlinks them while the other process still reads.)
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
CONTAINER = Path("/sys/fs/cgroup")  # has memory.max and memory.current of this container, if it has a limit


def anonymous_file() -> int:
    """Return the descriptor of an empty anonymous file, which a child process may inherit."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ludus", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def free_bytes(container: Path = CONTAINER) -> int:
    """Return the free memory of this machine, or of the container if its limit is lower."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return free
    return max(0, min(free, limit - used))


class SharedMemory:
    """Maps the shared memory into this process. The side with `create` sets its size; the other opens it afterwards.

    Raises ConfigError if the batch buffers do not fit into the free memory.
    """

    def __init__(self, descriptor: int, floats: int, layout: SegmentLayout, buffers: int, *, create: bool) -> None:
        board = _pages(WeightsBoard.nbytes(floats))
        buffer_bytes = _pages(layout.nbytes)
        if create:
            _refuse_too_many(buffers, buffer_bytes, free_bytes())
            os.ftruncate(descriptor, board + buffers * buffer_bytes)
        memory = memoryview(mmap.mmap(descriptor, board + buffers * buffer_bytes))
        self.board = WeightsBoard(memory[: WeightsBoard.nbytes(floats)])
        self.buffers = [layout.over(memory[board + at * buffer_bytes :][: layout.nbytes]) for at in range(buffers)]


def _refuse_too_many(buffers: int, nbytes: int, free: int) -> None:
    """Raise ConfigError now: memory is allocated when it is first written to, which would end the run later."""
    if buffers * nbytes > free:
        raise ConfigError(
            f"rollout.queue: {buffers} batches of {nbytes / 2**20:,.0f} MiB, with the one at work, are more than the "
            f"{free / 2**20:,.0f} MiB that are free here; a shorter queue or smaller batches (learner.decisions) fit"
        )


def _pages(nbytes: int) -> int:
    return (nbytes + PAGE - 1) // PAGE * PAGE
