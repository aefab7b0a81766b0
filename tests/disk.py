"""Disks that are full, and have room again: a small one of memory where that is permitted, else limits of a process."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILL = "filler"


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[bool]:
    """A disk of that size at `folder`. False, and none, where this user may not mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, timeout=10).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


def fill(disk: Path) -> None:
    """Write until nothing more fits."""
    with (disk / FILL).open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


def free(disk: Path) -> None:
    (disk / FILL).unlink()


def stop_writing(pid: int) -> None:
    """No file of this process grows any more, as if its disk were full: writing fails with EFBIG."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))


def let_write(pid: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
