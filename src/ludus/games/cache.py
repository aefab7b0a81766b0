"""The per-user cache folder for installed simulators, and a lock that prevents two installs at the same time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ludus.errors import SetupError

POLL_S = 0.1


def home() -> Path:
    """Return LUDUS_HOME, or `ludus` in the user's cache folder. The folder may not exist yet."""
    if folder := os.environ.get("LUDUS_HOME"):
        return Path(folder).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ludus" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ludus"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ludus"


@contextmanager
def exclusive(path: Path, deadline_s: float) -> Iterator[None]:
    """Hold the lock file `path`. Raises SetupError if another process holds it until `deadline_s`. The operating system
    releases the lock when its holder dies, so a file that was left behind does not lock anybody out."""
    until = time.monotonic() + deadline_s
    with path.open("a+b") as file:
        while not _locked(file):
            if time.monotonic() >= until:
                raise SetupError(
                    f"another process has held {path} for {deadline_s:.0f} s; wait for its install to end, or end it"
                )
            time.sleep(POLL_S)
        yield  # closing the file releases the lock


if sys.platform == "win32":
    import msvcrt

    def _locked(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _locked(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
