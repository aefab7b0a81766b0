"""The processes of a run, seen from outside: who is learner, actor, host or server, and which are left over.

A run is started with a value of its own in the environment variable MARK. All that it starts inherits it, so that
processes are found by it whoever their parent is by then.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

MARK = "LUDUS_STORM"
PROC = Path("/proc")
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Tree:
    """Processes of one run, at one moment."""

    learner: int
    actor: int | None
    hosts: tuple[int, ...]
    servers: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return (self.learner, *(() if self.actor is None else (self.actor,)), *self.hosts, *self.servers)


def tree(learner: int) -> Tree:
    """Look now. A process that ends meanwhile is left out."""
    actor, hosts, servers = None, [], []
    for child in _children(learner):
        words = _words(child)
        if "ludus.actors.child" in words:
            actor = child.pid
        elif "pokemon-showdown" in words:
            servers.append(child.pid)
    if actor is not None:
        hosts = [child.pid for child in _children(actor)]
    return Tree(learner, actor, tuple(sorted(hosts)), tuple(sorted(servers)))


def runs(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each of them that still exists."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def marked(mark: str) -> list[int]:
    """Processes that were started with this MARK and are no zombies."""
    wanted, pids = f"{MARK}={mark}".encode(), []
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0") and runs(int(folder.name)):
                    pids.append(int(folder.name))
    return sorted(pids)


def all_gone(mark: str, within_s: float) -> list[int]:
    """Wait until no process has this MARK; those that are left after the time."""
    until = time.monotonic() + within_s
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(POLL_S)
    return left


def port_of(server: int) -> int | None:
    """The port that a server of Showdown was told to use."""
    words = _words(psutil.Process(server)) if psutil.pid_exists(server) else []
    return int(words[-1]) if words and words[-1].isdecimal() else None


def frames_of(host: int) -> int:
    """The descriptor that a host writes its frames to: a pipe that it may write to and that is not its stderr.

    Python hosts move it away from 1, so that what a game prints cannot get between. Raises OSError when there is none.
    """
    folder = PROC / str(host)
    stderr = os.readlink(folder / "fd" / "2")
    for path in sorted((folder / "fd").iterdir(), key=lambda path: int(path.name)):
        link = os.readlink(path)
        if link.startswith("pipe:") and link != stderr and _writes(folder / "fdinfo" / path.name):
            return int(path.name)
    raise OSError(f"process {host} has no pipe to write frames to")


def memory_mib(pids: Iterable[int]) -> float:
    """The memory of these processes together, without what they share; those that are gone count as nothing."""
    total = 0
    for pid in pids:
        with suppress(psutil.Error):
            total += psutil.Process(pid).memory_full_info().uss
    return total / 2**20


def descriptors(pid: int) -> int:
    """How many files the process has open; 0 when it is gone."""
    with suppress(OSError):
        return len(os.listdir(PROC / str(pid) / "fd"))
    return 0


def describe(pid: int) -> str:
    """One line for whoever looks into a hang: command, state, and where in the kernel it waits."""
    try:
        process = psutil.Process(pid)
        words, state = " ".join(process.cmdline())[:160], process.status()
        waits = (PROC / str(pid) / "wchan").read_text()
        return f"{pid} {state} in {waits}, {process.num_threads()} threads, {descriptors(pid)} descriptors: {words}"
    except (psutil.Error, OSError) as error:
        return f"{pid}: {error}"


def _writes(info: Path) -> bool:
    fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
    return int(fields["flags"], 8) & os.O_ACCMODE == os.O_WRONLY


def _children(pid: int) -> list[psutil.Process]:
    try:
        return [child for child in psutil.Process(pid).children() if child.status() != psutil.STATUS_ZOMBIE]
    except psutil.Error:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
