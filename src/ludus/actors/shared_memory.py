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
    """Return the free memory of this machine in bytes, or of the container if it has less."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return free
    return max(0, min(free, limit - used))


class SharedMemory:
    """Maps the shared memory into this process: the board with the newest weights, and the batch buffers.

    The learner's side sets its size (`create`); the actor's side maps it afterwards. Raises ConfigError if the batch
    buffers do not fit into the free memory.
    """

    def __init__(self, descriptor: int, floats: int, layout: SegmentLayout, buffers: int, *, create: bool) -> None:
        board = _pages(WeightsBoard.nbytes(floats))
        buffer_bytes = _pages(layout.nbytes)
        if create:
            _refuse_too_many(buffers, buffer_bytes, free_bytes())
            os.ftruncate(descriptor, board + buffers * buffer_bytes)
        memory = memoryview(mmap.mmap(descriptor, board + buffers * buffer_bytes))
        self.board = WeightsBoard(memory[: WeightsBoard.nbytes(floats)])
        self.blocks = [memory[board + at * buffer_bytes :][: layout.nbytes] for at in range(buffers)]
        self.buffers = [layout.over(block) for block in self.blocks]  # the same memory as batches


def _refuse_too_many(buffers: int, nbytes: int, free: int) -> None:
    """Raise ConfigError if the batch buffers need more than `free` bytes.

    The system allocates memory only when it is first written to, so the run would otherwise be killed later.
    """
    if buffers * nbytes > free:
        raise ConfigError(
            f"rollout.queue: {buffers} batches of {nbytes / 2**20:,.0f} MiB (the queue and the batch in use) need more "
            f"memory than the {free / 2**20:,.0f} MiB that are free here; use a shorter queue or smaller batches "
            "(learner.decisions)"
        )


def _pages(nbytes: int) -> int:
    return (nbytes + PAGE - 1) // PAGE * PAGE
