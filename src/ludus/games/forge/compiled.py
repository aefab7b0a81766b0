"""Compiles the host against the user's Forge, once for each version of both."""

from __future__ import annotations

import hashlib
import shutil
from importlib import resources
from pathlib import Path

from ludus.errors import SetupError
from ludus.games import cache
from ludus.games.forge.installation import Forge, Java, run_java

COMPILE_DEADLINE_S = 300.0
COMPILER = ("-m", "jdk.compiler/com.sun.tools.javac.Main")  # a JRE has no program javac, but may have this module
DONE = "done"  # written last, so that a folder without it is a compilation that was interrupted


def sources() -> list[Path]:
    """Return the host's source files: those of the game and those of the Java module of the SDK."""
    own = Path(str(resources.files("ludus.games.forge"))) / "host"
    sdk = Path(str(resources.files("ludus.sdk"))) / "java"
    return [*sorted(own.glob("*.java")), *sorted(sdk.glob("*.java"))]


def classes_of(forge: Forge, java: Java) -> Path:
    """Return the folder with the compiled host, and compile it if it is not there yet. Raises SetupError with the
    compiler's words if that fails."""
    folder = cache.home() / "forge" / f"{forge.version}-{_fingerprint(forge, java)}"
    if (folder / DONE).exists():
        return folder
    if not java.compiles:
        raise SetupError(
            f"{java.program} has no compiler; install a JDK (Debian: openjdk-17-jdk-headless), or set options.java"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with cache.exclusive(folder.with_name(f"{folder.name}.lock"), COMPILE_DEADLINE_S):
        if not (folder / DONE).exists():
            _compile(forge, java, folder)
    return folder


def _compile(forge: Forge, java: Java, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = (*COMPILER, "-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(folder), "-cp", str(forge.jar))
    done = run_java(java, (*words, *map(str, sources())), COMPILE_DEADLINE_S)
    if done.returncode:
        raise SetupError(
            f"the host does not compile against Forge {forge.version} ({forge.jar}); this version of ludus may not "
            f"know that version of Forge. The compiler says: {(done.stderr or done.stdout)[:2000]}"
        )
    (folder / DONE).touch()


def _fingerprint(forge: Forge, java: Java) -> str:
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    facts = forge.jar.stat()
    digest.update(f"{forge.jar}\0{facts.st_size}\0{facts.st_mtime_ns}\0{java.version}".encode())
    return digest.hexdigest()[:16]
