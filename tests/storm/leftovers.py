"""What a run must not leave behind: processes, ports, shared memory, temporary and unfinished files."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.storm import processes

SHARED = Path("/dev/shm")
GONE_S = 10.0  # for the last process to end
UNFINISHED = (".unfinished-*", "*.partial", "*.tmp")


@dataclass(frozen=True, slots=True)
class Before:
    """What was there before the run."""

    shared: frozenset[str]

    @classmethod
    def look(cls) -> Before:
        return cls(_shared())


def found(before: Before, mark: str, run_dir: Path, temporary: Path, ports: Iterable[int]) -> list[str]:
    """Everything that is left, in words; empty when nothing is."""
    left = [f"process {processes.describe(pid)}" for pid in processes.all_gone(mark, GONE_S)]
    left += [f"port {port} is taken" for port in sorted(set(ports)) if _taken(port)]
    left += [f"shared memory {name}" for name in sorted(_shared() - before.shared) if not _held(SHARED / name)]
    left += [f"temporary file {path.relative_to(temporary)}" for path in sorted(temporary.rglob("*"))]
    left += [
        f"unfinished file {path.relative_to(run_dir)}"
        for pattern in UNFINISHED
        for path in sorted(run_dir.rglob(pattern))
    ]
    return left


def _shared() -> frozenset[str]:
    return frozenset(os.listdir(SHARED)) if SHARED.is_dir() else frozenset()


def _held(path: Path) -> bool:
    """Whether a process has it open: then it is somebody else's."""
    for folder in processes.PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if any(os.readlink(fd) == str(path) for fd in (folder / "fd").iterdir()):
                    return True
    return False


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
