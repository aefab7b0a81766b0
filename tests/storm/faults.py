"""Does the harm: signals, bytes into pipes and ports, a full disk, damaged files. Linux only.

A host's pipe is written to through /proc/PID/fd: what is written there stands among the host's own frames, without a
program between fleet and host that would change how they talk.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.storm import garbage, processes
from tests.storm.disk import Disk
from tests.storm.plan import Fault
from tests.storm.processes import Tree

WRITE_S = 5.0  # for a pipe to take what is written
DRIBBLE_EVERY_S = 0.2
STDERR = 2


def _nothing() -> None:
    pass


@dataclass(slots=True)
class Injection:
    """A fault under way: call `tick` often, and `undo` once it has lasted long enough."""

    fault: Fault
    victims: tuple[int, ...] = ()
    tick: Callable[[], None] = _nothing
    undo: Callable[[], None] = _nothing

    @property
    def settled(self) -> bool:
        """Whether those that had to go are gone."""
        return not self.fault.of.replaced or not any(processes.runs(pid) for pid in self.victims)


def inject(fault: Fault, tree: Tree, disk: Disk, hit: Collection[int] = ()) -> Injection | None:
    """None when there is no such process at the moment. Those that are `hit` already are spared: the SIGCONT of one
    fault would undo the SIGSTOP of another."""
    group, _, how = fault.kind.partition("-")
    if group == "disk":
        disk.fill()
        return Injection(fault, undo=disk.free)
    if group == "run":
        return _pause(fault, tree.all)
    groups = {"host": tree.hosts, "server": tree.servers, "actor": () if tree.actor is None else (tree.actor,)}
    candidates = [pid for pid in groups[group] if pid not in hit]
    if not candidates:
        return None
    pid = candidates[fault.target % len(candidates)]
    if how == "pause":
        return _pause(fault, (pid,))
    if how in ("kill", "stop"):
        processes.send((pid,), signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        return Injection(fault, (pid,))
    if group == "server":
        return _call(fault, pid)
    try:
        return _flood(fault, pid) if how == "flood" else _speak(fault, pid)
    except OSError:
        return None  # it has ended meanwhile


def damage(kind: str, run_dir: Path, seed: int) -> bool:
    """Spoil files of a run that is not running; False when those are not there."""
    folder = run_dir / "checkpoints"
    saved = sorted(folder.glob("u*"))
    if kind == "damage-telemetry":
        return _spoil(run_dir / "progress.csv", seed) | _spoil(run_dir / "evaluations.jsonl", seed)
    if kind == "damage-best":
        (folder / "best.json").write_bytes(b'{"checkpoint": ')
        return True
    if len(saved) < 2:
        return False  # there must be one to go back to
    name = "matches.safetensors" if kind == "damage-matches" else "model.safetensors"
    path = saved[-1] / name
    if not path.exists():
        return False
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] if kind == "damage-matches" else garbage.flipped(data, seed))
    return True


def _pause(fault: Fault, pids: tuple[int, ...]) -> Injection:
    processes.send(pids, signal.SIGSTOP)
    return Injection(fault, pids, undo=lambda: processes.send(pids, signal.SIGCONT))


def _speak(fault: Fault, pid: int) -> Injection:
    data = garbage.among_frames(fault.kind, fault.seed)
    if fault.kind == "host-dribble":
        return _dribble(fault, pid, data)
    _write(pid, processes.frames_of(pid), data)
    if fault.kind == "host-half":
        processes.send((pid,), signal.SIGKILL)
    return Injection(fault, (pid,))


def _dribble(fault: Fault, pid: int, head: bytes) -> Injection:
    """The host itself is stopped; its pipe goes on to speak until the fleet closes the other end."""
    processes.send((pid,), signal.SIGSTOP)  # first, so that nothing of its own follows
    pipe = os.open(f"/proc/{pid}/fd/{processes.frames_of(pid)}", os.O_WRONLY | os.O_NONBLOCK)
    os.write(pipe, head)
    due_s = time.monotonic()

    def tick() -> None:
        nonlocal due_s, pipe
        if pipe >= 0 and time.monotonic() >= due_s:
            due_s = time.monotonic() + DRIBBLE_EVERY_S
            try:
                os.write(pipe, b" ")
            except BrokenPipeError:
                close()
            except BlockingIOError:
                pass

    def close() -> None:
        nonlocal pipe
        if pipe >= 0:
            os.close(pipe)
            pipe = -1

    return Injection(fault, (pid,), tick=tick, undo=close)


def _flood(fault: Fault, pid: int) -> Injection:
    line = b"warning: something that nobody reads happened in a library that nobody knows\n"
    _write(pid, STDERR, (line * (garbage.FLOOD_BYTES // len(line) + 1))[: garbage.FLOOD_BYTES])
    return Injection(fault, (pid,))


def _call(fault: Fault, pid: int) -> Injection | None:
    port = processes.port_of(pid)
    if port is None:
        return None
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(garbage.to_server(fault.seed))
    return Injection(fault, (pid,))


def _write(pid: int, descriptor: int, data: bytes) -> None:
    """As much of it as is taken: a reader may have closed the pipe after the first bytes, a disk may be full."""
    file = os.open(f"/proc/{pid}/fd/{descriptor}", os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    until, left = time.monotonic() + WRITE_S, memoryview(data)
    try:
        while len(left) and time.monotonic() < until:
            try:
                left = left[os.write(file, left) :]
            except BlockingIOError:
                select.select([], [file], [], 0.1)
            except OSError:
                return
    finally:
        os.close(file)


def _spoil(path: Path, seed: int) -> bool:
    if not path.exists():
        return False
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4] + b"\xff\xfe,\0," + garbage.flipped(b"x" * 40, seed))
    return True
