"""`ludus doctor`: checks what every run and each game needs, without starting or installing anything."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import psutil

from ludus.errors import ConfigError
from ludus.games import hooks, registry
from ludus.games.checks import Finding, disk, port
from ludus.processes.cores import cores as usable_cores

OLDEST_PYTHON = (3, 11)
NEEDED_MIB, WANTED_MIB = 1500, 3000  # memory for actor, learner and one host; with two hosts and the system
NEEDED_DISK_MIB, WANTED_DISK_MIB = 200, 1000  # disk space for checkpoints, event files and logs
TENSORBOARD = 6006  # its default port


def examine(runs: Path = Path()) -> list[Finding]:
    """Check what every run needs, then what each installed game needs; `runs` is the parent of run folders."""
    findings = [python(sys.version_info[:3]), *torch_and_devices()]
    findings += [cores(usable_cores(), psutil.cpu_percent(interval=0.1))]
    findings += [memory(psutil.virtual_memory().available >> 20)]
    findings += [disk("disk", runs.absolute(), NEEDED_DISK_MIB, WANTED_DISK_MIB), port(TENSORBOARD, "tensorboard")]
    return findings + [finding for name in registry.names() for finding in game_findings(name)]


def game_findings(name: str) -> list[Finding]:
    """Run the checks of a game. A game that cannot be loaded yields a note, since other games still work."""
    try:
        return hooks.findings_of(registry.load(name))
    except ConfigError as error:
        return [Finding(name, "note", str(error))]


def python(version: tuple[int, ...]) -> Finding:
    detail = f"{'.'.join(str(part) for part in version)} ({platform.python_implementation()}, {platform.system()})"
    if version < OLDEST_PYTHON:
        return Finding("python", "missing", detail, "install Python 3.11 or newer and make .venv with it")
    return Finding("python", "ok", detail)


def torch_and_devices() -> list[Finding]:
    try:
        import torch  # here, since the other checks work without it
    except ImportError as error:
        return [Finding("torch", "missing", f"cannot be imported: {error}", "make setup, or pip install torch")]
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    if names:
        devices = Finding("devices", "ok", f"cpu, {', '.join(f'cuda:{i} {name}' for i, name in enumerate(names))}")
    else:
        devices = Finding("devices", "ok", "cpu (no GPU found; small nets train well without)")
    return [Finding("torch", "ok", torch.__version__), devices]


def cores(usable: int, busy_percent: float) -> Finding:
    detail = f"{usable} usable, {busy_percent:.0f}% busy"
    if usable < 2:
        return Finding("cores", "note", detail, "hosts and learner share one core: expect half the speed")
    if busy_percent > 50:
        return Finding("cores", "note", detail, "other programs take much of the machine: expect less speed")
    return Finding("cores", "ok", detail)


def memory(available_mib: int) -> Finding:
    detail = f"{available_mib:,} MiB available"
    if available_mib < NEEDED_MIB:
        return Finding(
            "memory", "missing", detail, f"free {NEEDED_MIB:,} MiB: close programs, or take a larger machine"
        )
    if available_mib < WANTED_MIB:
        return Finding("memory", "note", detail, "take few hosts: --set fleet.hosts=1")
    return Finding("memory", "ok", detail)
