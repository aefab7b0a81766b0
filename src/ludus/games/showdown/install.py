"""Installs the simulator into the per-user cache.

    <LUDUS_HOME>/showdown/0.11.11-<lock>/   a finished install: npm's tree and, written last, installed.json
    <LUDUS_HOME>/showdown/partial-*/        an install under way, or what an interrupted one left
    <LUDUS_HOME>/showdown/install.lock      held by the one process that may write here
    <LUDUS_HOME>/showdown/install.log       output of the latest npm command

npm works in a partial folder, which takes its final name in one rename after its marker is on the disk; so whatever
has the final name and the marker is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ludus.errors import SetupError
from ludus.files import sync_folder, write
from ludus.games.cache import exclusive, home
from ludus.games.showdown import node as nodes
from ludus.games.showdown import npm_errors

VERSION = "0.11.11"
MANIFEST = Path(__file__).parent / "simulator"  # package.json and the lock file: every package with its integrity hash
INSTALLED_MIB = 150  # of a finished install, to show progress by
NEEDED_MIB = 400  # free before starting: the install and npm's cache of what it downloads
LOCK_DEADLINE_S = 1200.0
NPM_DEADLINE_S = 900.0
PROGRESS_EVERY_S = 0.25
MARKER = "installed.json"
NPM_FLAGS = ("--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")

Progress = Callable[[str, float], None]  # stage, share of the whole done so far


@dataclass(frozen=True, slots=True)
class Installation:
    """Paths of Node and of the simulator."""

    node: Path
    root: Path  # the pokemon-showdown package


@dataclass(frozen=True, slots=True)
class Status:
    """State of the installation. `problem` says why no match can be played and what to do; empty if none."""

    installed: bool
    folder: Path
    version: str
    node: Path | None
    node_version: str
    problem: str


def ensure(node: str = "wheel", progress: Progress | None = None) -> Installation:
    """Install the simulator if it is missing. Safe to call from several processes. Raises SetupError."""
    executable = nodes.find(node)
    target = folder()
    if not _finished(target):
        _install(target, executable, progress or (lambda stage, fraction: None))
    return Installation(executable, _root(target))


def status(node: str = "wheel") -> Status:
    """Return the state of the installation. Installs and creates nothing."""
    target = folder()
    installed = _finished(target)
    problem = "" if installed else "the simulator is not installed yet: the first run installs it, or `make setup`"
    try:
        executable = nodes.find(node)
        return Status(installed, target, VERSION, executable, nodes.version(executable), problem)
    except SetupError as error:
        return Status(installed, target, VERSION, None, "", str(error))


def folder() -> Path:
    """Return the folder of the finished install, which may not exist yet."""
    return home() / "showdown" / f"{VERSION}-{_lock_hash()[:12]}"


def _root(folder: Path) -> Path:
    return folder / "node_modules" / "pokemon-showdown"


@cache
def _lock_hash() -> str:
    return hashlib.sha256((MANIFEST / "package-lock.json").read_bytes()).hexdigest()


def _marker() -> dict[str, str]:
    return {"version": VERSION, "lock": _lock_hash()}


def _finished(folder: Path) -> bool:
    try:
        marker = json.loads((folder / MARKER).read_text())
    except (OSError, ValueError):
        return False
    return bool(marker == _marker()) and (_root(folder) / "dist" / "sim" / "index.js").is_file()


def _install(folder: Path, executable: Path, progress: Progress) -> None:
    npm = nodes.npm(executable)
    parent = folder.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        progress("preparing", 0.0)
        with exclusive(parent / "install.lock", LOCK_DEADLINE_S):
            if _finished(folder):
                return  # by whoever held the lock
            _sweep(parent, folder)
            _check_space(parent)
            partial = Path(tempfile.mkdtemp(prefix="partial-", dir=parent))
            try:
                _download(partial, npm, parent / "install.log", progress)
                progress("finishing", 1.0)
                _seal(partial)
                partial.rename(folder)
                sync_folder(parent)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        problem = f"cannot install the simulator into {parent}: {error}. {npm_errors.explain_os_error(error)}"
        raise SetupError(problem.rstrip(". ")) from error


def _sweep(parent: Path, folder: Path) -> None:
    """Remove what interrupted installs left. Only under the lock, where no partial folder belongs to anybody alive."""
    if folder.exists():  # has the name but not the marker
        folder.rename(parent / f"partial-{folder.name}-{os.getpid()}")
    for partial in parent.glob("partial-*"):
        shutil.rmtree(partial, ignore_errors=True)


def _check_space(parent: Path) -> None:
    free_mib = shutil.disk_usage(parent).free >> 20
    if free_mib < NEEDED_MIB:
        raise SetupError(
            f"{parent} has {free_mib} MiB free and the simulator needs {NEEDED_MIB}; free some, or set LUDUS_HOME to a "
            "folder on another disk"
        )


def _download(partial: Path, npm: tuple[str, ...], log: Path, progress: Progress) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(MANIFEST / name, partial / name)
    until = time.monotonic() + NPM_DEADLINE_S
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*npm, "ci", *NPM_FLAGS], cwd=partial, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while process.poll() is None:
                if time.monotonic() > until:
                    raise SetupError(
                        f"npm did not finish in {NPM_DEADLINE_S:.0f} s; check the network, then try again ({log})"
                    )
                progress("installing", min(0.99, _mib(partial) / INSTALLED_MIB))
                _wait(process, PROGRESS_EVERY_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode != 0 or not (_root(partial) / "dist").is_dir():
        cause = npm_errors.explain(log.read_text(errors="replace"))
        raise SetupError(
            f"npm could not install the simulator (exit status {process.returncode}). {cause} (full output: {log})"
        )


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)


def _seal(partial: Path) -> None:
    """Write the marker after everything else has reached the disk."""
    if hasattr(os, "sync"):
        os.sync()
    write(partial / MARKER, json.dumps(_marker()).encode(), durable=True)
    sync_folder(partial)


def _mib(folder: Path) -> float:
    total = 0
    for where, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:  # npm has moved it meanwhile
                continue
    return total / 2**20
