"""Downloads the wheels of all dependencies for a target with pip, and checks that none is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from ludus.bundle.own_wheel import DISTRIBUTION, source_tree
from ludus.bundle.target import Target
from ludus.errors import SetupError

PIP_S = 3600.0
POLL_S = 0.25
ROUNDS = 5  # of downloads: pip reads some conditions of dependencies for this Python, not for the target's
ROUTINE = (
    "Collecting",
    "Downloading",
    "Looking",
    "Obtaining",
    "Processing",
    "Requirement",
    "Saved",
    "Using",
    "WARNING",
)
SHOWN_LINES = 12  # of pip's output, in an error
PIP = "pip"  # goes into the bundle too: not every Python brings one

Progress = Callable[[str], None]  # what is being downloaded


def download(own_wheel: Path, extras: Collection[str], target: Target, folder: Path, progress: Progress) -> list[Path]:
    """Download into `folder` the wheels that `own_wheel` with these extras needs on the target.

    Versions are those of constraints.txt, or in an installation without it, of the packages installed here. pip uses
    the indexes that it is configured for. Raises SetupError if something cannot be had.
    """
    root = DISTRIBUTION + (f"[{','.join(sorted(extras))}]" if extras else "")
    with tempfile.TemporaryDirectory(prefix="ludus-bundle-") as temporary:
        pins = Path(temporary) / "pins.txt"
        pins.write_text("".join(f"{pin}\n" for pin in _pins()))
        words = ["--find-links", str(own_wheel.parent), "--constraint", str(pins), *target.pip_options]
        _pip([*words, root, PIP], folder, Path(temporary) / "pip.log", progress)
        for _ in range(ROUNDS):
            wheels = sorted(folder.glob("*.whl"))
            needed = missing(wheels, [Requirement(root), Requirement(PIP)], target)
            if not needed:
                return wheels
            _pip([*words, "--no-deps", *map(str, needed)], folder, Path(temporary) / "pip.log", progress)
    raise SetupError(f"pip does not find all that {root} needs for {target}: {', '.join(map(str, needed))} is missing")


def missing(wheels: Iterable[Path], roots: Iterable[Requirement], target: Target) -> list[Requirement]:
    """Return the requirements that no wheel meets on the target, following all dependencies from the roots."""
    paths = {}
    for path in wheels:
        with suppress(InvalidWheelFilename):
            name, version, _, _ = parse_wheel_filename(path.name)
            paths[name] = (path, version)
    absent: dict[str, Requirement] = {}
    open_requirements = list(roots)
    done: set[tuple[str, str]] = set()  # name and extra
    while open_requirements:
        requirement = open_requirements.pop()
        name = canonicalize_name(requirement.name)
        if name not in paths or not requirement.specifier.contains(paths[name][1], prereleases=True):
            absent.setdefault(name, Requirement(f"{requirement.name}{requirement.specifier}"))
            continue
        extras = {(name, extra) for extra in ("", *requirement.extras)} - done
        done |= extras
        for dependency in requirements_of(paths[name][0]) if extras else ():
            values = [{**target.environment, "extra": extra} for _, extra in extras]
            if dependency.marker is None or any(dependency.marker.evaluate(each) for each in values):
                open_requirements.append(dependency)
    return [absent[name] for name in sorted(absent)]


def requirements_of(wheel: Path) -> list[Requirement]:
    """Return the dependencies in the metadata of a wheel. Raises SetupError for a damaged wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (each for each in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", each))
            headers = HeaderParser().parsestr(archive.read(name).decode())
        return [Requirement(text) for text in headers.get_all("Requires-Dist") or ()]
    except (OSError, ValueError, zipfile.BadZipFile, InvalidRequirement) as error:
        raise SetupError(
            f"{wheel.name} is no wheel that can be read: {error}; clear pip's cache and try again"
        ) from error


def _pins() -> list[str]:
    tree = source_tree()
    if tree is not None and (tree / "constraints.txt").is_file():
        lines = (line.strip() for line in (tree / "constraints.txt").read_text().splitlines())
        return [line for line in lines if line and not line.startswith("#")]
    installed = {each.name: each.version.partition("+")[0] for each in metadata.distributions() if each.name}
    return sorted(f"{name}=={version}" for name, version in installed.items() if name not in (DISTRIBUTION, PIP))


def _pip(words: list[str], folder: Path, log: Path, progress: Progress) -> None:
    """Run `pip download`. Raises SetupError with what pip says if it fails or takes longer than `PIP_S`."""
    command = [sys.executable, "-m", "pip", "download", "--progress-bar", "off", "--dest", str(folder), *words]
    until = time.monotonic() + PIP_S
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as pip,
    ):
        try:
            while pip.poll() is None:
                if time.monotonic() > until:
                    raise SetupError(f"pip did not finish in {PIP_S:.0f} s; check the network, then try again")
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(POLL_S)
                progress(_latest(log))
        finally:
            if pip.poll() is None:
                pip.kill()
    if pip.returncode:
        raise SetupError(f"pip cannot download the wheels: {_explanation(log)}")


def _explanation(log: Path) -> str:
    """Return the last lines of pip's output that are not about its progress."""
    lines = [line.rstrip() for line in log.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if line and not line.lstrip().startswith(ROUTINE)]
    return "\n".join(telling[-SHOWN_LINES:])


def _latest(log: Path) -> str:
    """Return the name of the package that pip has named last."""
    packages = re.findall(r"^(?:Collecting|Processing) (\S+)", log.read_text(errors="replace"), re.MULTILINE)
    return re.split(r"-\d|[<>=!~;\[]", packages[-1].rpartition("/")[2])[0] if packages else ""
