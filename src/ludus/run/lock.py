"""The lock on a run's folder, so that only one process trains there. The file `lock` names that process.

The operating system holds the lock (flock) and drops it when the process ends, however it ends. The content of the file
only says who holds it. A process that is killed leaves the file behind; nobody holds the lock then, so the next run
takes it.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from ludus import files
from ludus.errors import ConfigError, SetupError

LOCK = "lock"  # name of the file in a run's folder
LARGEST_NOTE = 1 << 16  # most bytes of the file that are read
UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
log = logging.getLogger(__name__)


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a lock."""

    pid: int
    host: str  # name of the machine
    started: str  # local time at which it took the lock
    command: str

    @classmethod
    def here(cls) -> Holder:
        started = datetime.now().astimezone().isoformat(" ", "seconds")
        return cls(os.getpid(), socket.gethostname(), started, shlex.join(sys.argv))

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}, since {self.started}: {self.command}"


@dataclass(frozen=True, slots=True)
class RunLock:
    """A lock on a run's folder, held until the `with hold(...)` block ends."""

    run_dir: Path
    abandoned: Holder | None = None  # the previous holder, if it ended without releasing the lock

    def tell(self) -> None:
        """Log that the lock was taken over, if it was."""
        if self.abandoned is not None:
            words = "the lock on %s is taken over from a process that ended without releasing it (%s)"
            log.warning(words, self.run_dir, self.abandoned)


@contextmanager
def hold(run_dir: Path) -> Iterator[RunLock]:
    """Hold the lock on a run's folder during a `with` block. A missing folder is created. Child processes do not
    inherit the lock.

    Raises ConfigError, which names the holder, if another process holds the lock, and SetupError if the file cannot be
    created. On a file system without locks, a warning is logged instead.
    """
    is_new = not run_dir.exists()
    path = run_dir / LOCK
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(path)
    except OSError as error:
        raise SetupError(f"{path}: cannot be written: {files.reason(error)}; choose another folder") from error
    try:
        abandoned = _read(descriptor)
        _note(descriptor, Holder.here())
        yield RunLock(run_dir, abandoned)
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock is released: the next holder checks that the file still exists
        os.close(descriptor)
        if is_new:
            with suppress(OSError):
                run_dir.rmdir()  # succeeds only if the run was refused, since the folder is then empty


def _locked(path: Path) -> int:
    """Open and lock the file. Returns its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(descriptor, path)
            if _is_open_as(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the holder has just removed this file; try again with a new one


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(_refusal(path.parent, _read(descriptor))) from None
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        log.warning(
            "%s: this file system has no locks (%s); nothing keeps a second run out of this folder",
            path,
            error.strerror,
        )


def _refusal(run_dir: Path, holder: Holder | None) -> str:
    who = "another process, which has not written its name" if holder is None else str(holder)
    where = "" if holder is None or holder.host == socket.gethostname() else f" on {holder.host}"
    stop = "stop it" if holder is None else f"stop it (kill {holder.pid}{where})"
    return f"{run_dir} is in use by {who}; wait until that ends, {stop}, or choose another folder"


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Return True if `path` is still the file that the descriptor was opened for."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)


def _read(descriptor: int) -> Holder | None:
    """Return the holder that the file names, or None if it names none."""
    try:
        return msgspec.json.decode(os.pread(descriptor, LARGEST_NOTE, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _note(descriptor: int, holder: Holder) -> None:
    with suppress(OSError):  # on a full disk, the lock is held but the file names nobody
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
