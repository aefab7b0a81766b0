"""Checks of `ludus doctor` for the game `forge-daemon`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable

from ludus.games.checks import Finding, port

JAVA = 17  # Forge needs at least this
PORT = 17171  # where a daemon listens unless `-p` names another port
ASK_S = 10.0


def checks() -> Iterable[Finding]:
    """Yield whether a Java that can run Forge is there, and whether a daemon may use its usual port."""
    yield java()
    yield port(PORT, "a Forge daemon that is started without -p")


def java() -> Finding:
    """Return which Java starts daemons. Only those that run Magic need one, so its absence is a note."""
    name, remedy = "java for forge daemons", f"only game: forge-daemon needs it: install Java {JAVA} or later"
    program = shutil.which("java")
    if program is None:
        return Finding(name, "note", "there is no java on the PATH", remedy)
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, "note", f"{program} does not start: {error}", remedy)
    version = re.search(r'version "(\d+)', answer.stderr)
    if version is None or int(version[1]) < JAVA:
        return Finding(name, "note", f"{program} is {answer.stderr.splitlines()[:1]}", remedy)
    return Finding(name, "ok", f"Java {version[1]}, {program}")
