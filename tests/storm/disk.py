"""A small disk of its own for a run's folder, which can be filled and freed."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOUNT_S = 10.0
PIECE = 4096


class Disk:
    """`trouble` says why it cannot be filled; empty: it can."""

    def __init__(self, folder: Path, trouble: str = "") -> None:
        self.folder, self.trouble = folder, trouble
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Take every byte that is free."""
        free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        descriptor = os.open(self._ballast, os.O_CREAT | os.O_WRONLY)
        try:
            with suppress(OSError):  # what the run has written meanwhile is missing: pieces take the rest
                os.posix_fallocate(descriptor, 0, max(free - (1 << 20), 1))
            os.lseek(descriptor, 0, os.SEEK_END)
            while os.write(descriptor, bytes(PIECE)) == PIECE:
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(descriptor)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path, mib: int) -> Iterator[Disk]:
    """A tmpfs where the system lets us mount one, else a plain folder that is never filled."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "ludus-storm", str(folder)]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=MOUNT_S)
        trouble = outcome.stderr.strip() if outcome.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        trouble = str(error)
    if trouble:
        yield Disk(folder, f"no file system of its own: {trouble}")
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, timeout=MOUNT_S)
