"""Says whether a run is running, and lists its processes with their memory and CPU if it runs on this machine."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from ludus.processes.kinds import kind
from ludus.watch import runs_folder

State = Literal["running", "finished", "stopped", "died"]
LOCK_BYTES = 1 << 16
FRESH_S = 60.0  # a run on another machine counts as running this long after its latest row
MOST_PROCESSES = 512
SECOND_STARTED_S = 2.0  # resolution of `started` in the lock, with some room


class LockHolder(msgspec.Struct, frozen=True):
    """The process that a run's lock names."""

    pid: int
    host: str
    started: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """One process of a run."""

    pid: int
    role: str  # learner, or a kind of ludus.processes.kinds
    command: str
    memory_mib: float  # resident; pages shared with other processes count for each
    cpu: float  # cores used since the last look; 0 at the first


def state(run: Path, *, has_final: bool) -> State:
    """Return the state of a run: `died` if its process ended without releasing the lock. `has_final` says whether its
    final evaluation is in the folder."""
    holder = holder_of(run)
    if holder is None:
        return "finished" if has_final else "stopped"
    if holder.host == socket.gethostname():
        return "running" if _process(holder) is not None else "died"
    changed_s = runs_folder.changed_s(run, runs_folder.PROGRESS)
    return "running" if changed_s is not None and time.time() - changed_s < FRESH_S else "died"


def holder_of(run: Path) -> LockHolder | None:
    """Return the process that the lock of a run names, or None if there is no lock or it names none."""
    try:
        return msgspec.json.decode(runs_folder.head(run, runs_folder.LOCK, LOCK_BYTES), type=LockHolder)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


class Processes:
    """The processes of runs on this machine. Keeps their CPU times between two looks."""

    def __init__(self) -> None:
        self._processes: dict[tuple[int, float], psutil.Process] = {}

    def of(self, run: Path) -> list[ProcessUse]:
        """Return the processes of a run, or [] if it does not run on this machine."""
        holder = holder_of(run)
        root = _process(holder) if holder is not None and holder.host == socket.gethostname() else None
        if root is None:
            return []
        try:
            tree = [root, *root.children(recursive=True)][:MOST_PROCESSES]
        except psutil.Error:
            return []
        uses = [self._use(process, root.pid) for process in tree]
        self._processes = {key: process for key, process in self._processes.items() if process.is_running()}
        return [use for use in uses if use is not None]

    def _use(self, process: psutil.Process, root: int) -> ProcessUse | None:
        try:
            process = self._processes.setdefault((process.pid, process.create_time()), process)
            words = process.cmdline()
            return ProcessUse(
                process.pid,
                "learner" if process.pid == root else kind(words),
                _brief(words) or process.name(),
                process.memory_info().rss / 2**20,
                process.cpu_percent() / 100,
            )
        except psutil.Error:  # the process has ended
            return None


def _process(holder: LockHolder) -> psutil.Process | None:
    """Return the process of a lock on this machine, or None if it has ended; its number may be in use again."""
    try:
        process = psutil.Process(holder.pid)
        words, status = process.cmdline(), process.status()
    except (psutil.Error, ValueError, OverflowError):
        return None
    same = not holder.command or any(word and word in holder.command for word in words[1:])
    return process if same and status != psutil.STATUS_ZOMBIE else None


def _brief(words: list[str]) -> str:
    """Return a command without folders and options of its interpreter, at most 80 characters."""
    if not words:
        return ""
    rest = [word for word in words[1:] if not word.startswith("-") and word not in ("ludus.processes.launch",)]
    return " ".join([os.path.basename(words[0]), *(os.path.basename(word) for word in rest[:2])])[:80]
