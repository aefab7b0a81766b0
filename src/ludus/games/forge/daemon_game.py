"""Entry point of Magic on Forge daemons: programs that play games of Magic over a line protocol."""

from __future__ import annotations

from pathlib import Path

from ludus.games.forge import daemon_options, daemon_servers
from ludus.games.forge.daemon_options import DaemonOptions
from ludus.games.forge.daemon_scripted import DaemonCurvePolicy, RecordedAiPolicy
from ludus.games.registry import Game
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand, python_host


def command(options: DaemonOptions) -> HostCommand:
    """Return the command that starts a host. Raises ConfigError for options that cannot be played."""
    daemon_options.check(options)
    return python_host("ludus.games.forge.daemon_host")


game = Game(
    name="forge-daemon",
    summary="Magic: The Gathering on Forge daemons, over their line protocol",
    options=DaemonOptions,
    command=command,
    scripted={"random": RandomPolicy, "curve": DaemonCurvePolicy, "forge_ai": RecordedAiPolicy},
    net="entities",
    presets=Path(__file__).parent / "daemon_presets",
    local=frozenset({"daemons", "program", "folder"}),
    serve=daemon_servers.serve,
    most_matches=daemon_options.most_matches,
    checks="ludus.games.forge.daemon_checks:checks",
)
