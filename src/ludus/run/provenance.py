"""Which code a run is made with, and where: one line in its folder for each start."""

from __future__ import annotations

import logging
import platform
import subprocess
from pathlib import Path

import msgspec

import ludus
from ludus import files
from ludus.files import Appender

log = logging.getLogger(__name__)
STARTS = "starts.jsonl"
GIT_S = 10.0  # a clone on a slow disk; a run does not wait longer to learn its own name


class Provenance(msgspec.Struct, frozen=True):
    version: str
    commit: str  # with a + when the sources differ from it; "" for an installed package
    cores: int
    system: str


def note(run_dir: Path, usable_cores: int) -> None:
    """Append a line to the run's `starts.jsonl`. A failure to write is logged and does not stop the run."""
    file = Appender(run_dir / STARTS)
    try:
        file.write(msgspec.json.encode(here(usable_cores)) + b"\n")
    except OSError as error:
        log.warning("%s cannot be written: %s; the run goes on", run_dir / STARTS, files.reason(error))
    finally:
        file.close()


def read(run_dir: Path) -> list[Provenance]:
    """Every start of a run; empty when it was begun by a version that did not note them. Damaged lines are left out."""
    try:
        starts = [_decoded(line) for line in files.lines(run_dir / STARTS)]
    except OSError:
        return []
    return [start for start in starts if start is not None]


def _decoded(line: bytes | None) -> Provenance | None:
    try:
        return None if line is None else msgspec.json.decode(line, type=Provenance)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: bytes that are no text
        return None


def here(usable_cores: int) -> Provenance:
    """Return the version of this code and of this machine."""
    clone = Path(ludus.__file__).parents[2]  # above src/ludus
    return Provenance(ludus.__version__, commit(clone), usable_cores, f"{platform.system()} {platform.machine()}")


def commit(clone: Path) -> str:
    """The commit of a clone, with a + when its src differs from it; "" where there is no clone or no git."""
    if not (clone / ".git").exists():  # else git would look in the folders above
        return ""
    try:
        return _git(clone, "rev-parse", "--short", "HEAD") + (
            "+" if _git(clone, "status", "--porcelain", "src") else ""
        )
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(clone: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", clone, *words], capture_output=True, text=True, check=True, timeout=GIT_S)
    return done.stdout.strip()
