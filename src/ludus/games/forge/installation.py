"""Finds Forge and Java on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ludus.errors import SetupError
from ludus.processes.command import HostCommand

FORGE_HOME = "FORGE_HOME"
OLDEST = (2, 0, 13)  # the first version whose rules ask for a spell's details in a way that a program can answer
OLDEST_JAVA = 17
WHERE = "download a release of Card-Forge/forge, unpack it, and set FORGE_HOME to its folder (or options.forge)"
JAR = re.compile(r"forge-gui-desktop-(?P<version>[0-9][0-9.]*)[^/]*-jar-with-dependencies\.jar")
JAVA_DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True)
class Forge:
    """An installation of Forge."""

    folder: Path
    jar: Path
    version: str


@dataclass(frozen=True, slots=True)
class Java:
    """A Java program."""

    program: str
    version: str
    compiles: bool  # True for a JDK; a JRE without the module jdk.compiler cannot compile the host


def find_forge(configured: str = "") -> Forge:
    """Return the configured installation, or that of FORGE_HOME. Raises SetupError if there is none, or an old one."""
    place = configured or os.environ.get(FORGE_HOME, "")
    if not place:
        raise SetupError(f"Forge is not configured; {WHERE}")
    folder = Path(place).expanduser().absolute()
    if not folder.is_dir():
        raise SetupError(f"Forge: there is no folder {folder}; {WHERE}")
    jars = sorted(path for path in folder.iterdir() if JAR.fullmatch(path.name))
    if not jars:
        raise SetupError(f"Forge: {folder} has no forge-gui-desktop-VERSION-jar-with-dependencies.jar; {WHERE}")
    if len(jars) > 1:
        raise SetupError(f"Forge: {folder} has {len(jars)} versions ({', '.join(jar.name for jar in jars)}); keep one")
    name = JAR.fullmatch(jars[0].name)
    assert name is not None
    version = name["version"].rstrip(".")
    if version_of(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SetupError(f"Forge: {folder} has version {version}, and {oldest} or later is needed; {WHERE}")
    if not (folder / "res" / "cardsfolder").is_dir():
        raise SetupError(f"Forge: {folder} has no res/cardsfolder; unpack the whole release, or {WHERE}")
    return Forge(folder, jars[0], version)


def version_of(text: str) -> tuple[int, ...]:
    """Return a version as numbers: (2, 0, 13) for 2.0.13. Pure."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", text)[:3])


def find_java(configured: str = "") -> Java:
    """Return the Java program. Raises SetupError if there is none, or one that is too old."""
    program = configured or _default_java()
    if program is None:
        raise SetupError(
            f"Java is not installed; install a JDK {OLDEST_JAVA} or later (Debian: openjdk-17-jdk-headless)"
        )
    answer = _ask(program, "-version")
    match = re.search(r'version "([0-9]+)([^"]*)"', answer)
    if match is None:
        raise SetupError(
            f"{program} -version says {answer[:200]!r}, expected a version; set options.java to a Java program"
        )
    if int(match[1]) < OLDEST_JAVA:
        raise SetupError(
            f"{program} is Java {match[1]}; install a JDK {OLDEST_JAVA} or later, or set options.java to one"
        )
    compiles = "jdk.compiler" in _ask(program, "--list-modules")
    return Java(program, match[1] + match[2], compiles)


def run_java(java: Java, arguments: tuple[str, ...], deadline_s: float) -> subprocess.CompletedProcess[str]:
    """Run Java to its end. Raises SetupError if it cannot be run or does not end in time."""
    try:
        return subprocess.run(
            (java.program, *arguments),
            capture_output=True,
            text=True,
            timeout=deadline_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{java.program} cannot be run: {error}") from error


def command_line(java: Java, flags: tuple[str, ...], classes: Path, forge: Forge) -> HostCommand:
    """Return the command that starts a host from compiled classes."""
    path = os.pathsep.join((str(classes), str(forge.jar)))
    return HostCommand((java.program, *flags, "-cp", path, "Host", "ForgeGame"))


def _default_java() -> str | None:
    if home := os.environ.get("JAVA_HOME"):
        return shutil.which("java", path=str(Path(home) / "bin"))
    return shutil.which("java")


def _ask(program: str, question: str) -> str:
    try:
        done = subprocess.run(
            (program, question),
            capture_output=True,
            text=True,
            timeout=JAVA_DEADLINE_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{program} cannot be run: {error}; set options.java to a Java program") from error
    return done.stdout + done.stderr
