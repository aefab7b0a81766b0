"""Checks of `ludus doctor` for Magic on Forge: Forge and Java."""

from __future__ import annotations

from ludus.errors import SetupError
from ludus.games.checks import Finding
from ludus.games.forge import installation


def checks() -> list[Finding]:
    """Find Forge and Java and name their versions. Starts Java to ask for its version. Both are notes: other games need
    neither."""
    return [forge(), java()]


def forge() -> Finding:
    try:
        installed = installation.find_forge()
    except SetupError as error:
        return Finding("forge", "note", str(error), "only the game forge needs it")
    return Finding("forge", "ok", f"Forge {installed.version} ({installed.folder})")


def java() -> Finding:
    try:
        program = installation.find_java()
    except SetupError as error:
        return Finding("java", "note", str(error), "only the game forge needs it")
    if not program.compiles:
        return Finding("java", "note", f"Java {program.version} ({program.program}) has no compiler", "install a JDK")
    return Finding("java", "ok", f"Java {program.version} ({program.program})")
