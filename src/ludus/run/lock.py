"""The lock on a run's folder: one process trains there, and the file `lock` says which.

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

LOCK = "lock"  # file of a run's folder
LARGEST_NOTE = 1 << 16  # bytes of the file that are read
UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
log = logging.getLogger(__name__)


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a lock."""

    pid: int
    host: str  # name of the machine
    started: str  # when it took the lock
    command: str

    @classmethod
    def here(cls) -> Holder:
        started = datetime.now().astimezone().isoformat(" ", "seconds")
        return cls(os.getpid(), socket.gethostname(), started, shlex.join(sys.argv))

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}, since {self.started}: {self.command}"


@dataclass(frozen=True, slots=True)
class RunLock:
    """A lock that is held until `hold` is left."""

    run_dir: Path
    abandoned: Holder | None = None  # a process that ended without giving the lock back

    def tell(self) -> None:
        """Log that the lock was taken over, if it was."""
        if self.abandoned is not None:
            words = "the lock on %s is taken over from a process that ended without giving it back (%s)"
            log.warning(words, self.run_dir, self.abandoned)


@contextmanager
def hold(run_dir: Path) -> Iterator[RunLock]:
    """Hold the lock on a run's folder, which is made if it is missing. No child process inherits the lock.

    Raises ConfigError, naming the holder, if another process holds it, and SetupError if the file cannot be made. On a
    file system without locks it warns and goes on.
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
            path.unlink()  # before the lock is dropped: whoever takes it looks whether the file is still there
        os.close(descriptor)
        if is_new:
            with suppress(OSError):
                run_dir.rmdir()  # of a run that was refused; one that began is not empty


def _locked(path: Path) -> int:
    """Open and lock the file; returns its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(descriptor, path)
            if _is_open_as(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just left and removed it


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
    who = "another process, which has not written who it is" if holder is None else str(holder)
    where = "" if holder is None or holder.host == socket.gethostname() else f" on {holder.host}"
    stop = "stop it" if holder is None else f"stop it (kill {holder.pid}{where})"
    return f"{run_dir} is being trained in by {who}; wait until that ends, {stop}, or choose another folder"


def _is_open_as(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)


def _read(descriptor: int) -> Holder | None:
    """None if the file does not say who holds the lock."""
    try:
        return msgspec.json.decode(os.pread(descriptor, LARGEST_NOTE, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _note(descriptor: int, holder: Holder) -> None:
    with suppress(OSError):  # on a full disk the lock is held without a name
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
