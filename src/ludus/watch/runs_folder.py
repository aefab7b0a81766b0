"""Finds runs in a folder and opens their files. A folder may come from elsewhere, so nothing outside of it is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ludus.config.folders import CONFIG
from ludus.errors import ConfigError

PROGRESS, EVALUATIONS, LOG, LOCK, STARTS = "progress.csv", "evaluations.jsonl", "run.log", "lock", "starts.jsonl"
MARKS = (CONFIG, PROGRESS)  # a folder with one of these is a run
MOST_RUNS = 500  # the latest ones of a folder are shown


class Runs:
    """The runs that a page shows: one run, or all runs directly in a folder. Runs may come and go."""

    def __init__(self, root: Path) -> None:
        """Raises ConfigError if the folder holds no run."""
        self._root = root.resolve()
        self._is_run = is_run(self._root)
        if not self._root.is_dir():
            raise ConfigError(f"{root} is no folder; name the folder of a run, or a folder of runs such as runs/")
        if not self.names():
            raise ConfigError(
                f"{root} holds no run: neither it nor a folder in it has a {CONFIG} or a {PROGRESS}; "
                "start one with `ludus train`, or name another folder"
            )

    @property
    def root(self) -> Path:
        return self._root

    def names(self) -> list[str]:
        """Return the names of the runs, the one that was changed last first."""
        if self._is_run:
            return [self._root.name] if is_run(self._root) else []
        changed_s = {entry.name: _changed_s(Path(entry.path)) for entry in _folders(self._root)}
        run_names = [name for name, at_s in changed_s.items() if at_s is not None]
        return sorted(run_names, key=lambda name: (-(changed_s[name] or 0.0), name))[:MOST_RUNS]

    def path(self, name: str) -> Path | None:
        """Return the folder of a run, or None if there is no run of this name (any more)."""
        if self._is_run:
            return self._root if name == self._root.name and is_run(self._root) else None
        inside = any(entry.name == name for entry in _folders(self._root))
        return self._root / name if inside and is_run(self._root / name) else None


def is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in MARKS)


def opened(run: Path, name: str) -> BinaryIO:
    """Open a file of a run for reading. Raises OSError, also for what is no plain file and for links that lead out of
    the folder."""
    path = os.path.realpath(run / name)
    if os.path.commonpath([path, os.path.realpath(run)]) != os.path.realpath(run):
        raise FileNotFoundError(f"{run / name} leads out of the run's folder")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(f"{run / name} is no plain file")
    return os.fdopen(descriptor, "rb")


def head(run: Path, name: str, most_bytes: int) -> bytes:
    """Return the beginning of a file, or b"" if it cannot be read."""
    try:
        with opened(run, name) as file:
            return file.read(most_bytes)
    except OSError:
        return b""


def tail(run: Path, name: str, most_bytes: int) -> list[bytes]:
    """Return the last lines of a file, without an incomplete first one; [] if it cannot be read."""
    try:
        with opened(run, name) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - most_bytes))
            lines = file.read(most_bytes).splitlines()
            return lines[1:] if size > most_bytes else lines
    except OSError:
        return []


def stamp(run: Path, name: str) -> tuple[int, ...]:
    """Return numbers that differ after a file (or folder) was changed or replaced; () if there is none."""
    try:
        state = (run / name).stat()
        return (state.st_ino, state.st_mtime_ns, state.st_size)
    except OSError:
        return ()


def changed_s(run: Path, name: str) -> float | None:
    """Return when a file was last written, in seconds since 1970, or None if there is none."""
    try:
        return (run / name).stat().st_mtime
    except OSError:
        return None


def _folders(root: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield entry
    except OSError:
        return


def _changed_s(folder: Path) -> float | None:
    return max((at_s for name in MARKS if (at_s := changed_s(folder, name)) is not None), default=None)
