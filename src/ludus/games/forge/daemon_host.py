"""The host that plays on Forge daemons: `python -m ludus.games.forge.daemon_host`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from ludus.errors import ConfigError
from ludus.games.forge import daemon_options, daemon_view
from ludus.games.forge.daemon_match import DaemonMatch, Daemons
from ludus.games.forge.daemon_options import DaemonOptions
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve

EXTRA_S = 10.0  # beyond `silent_s`: a turn sends a reply, reads lines and may connect


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        daemon = msgspec.convert(dict(options), DaemonOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"forge-daemon options: {error}") from error
    daemon_options.check(daemon)
    addresses = daemon_options.addresses(daemon)
    if not addresses:
        raise ConfigError(
            "options.daemons: names no daemon; let ludus start some (--set servers.count=1), or name running ones: "
            "--set options.daemons=127.0.0.1:17171"
        )
    spec = daemon_view.spec_of()
    index = os.environ.get("LUDUS_HOST", "0")
    daemons = Daemons(addresses, int(index) if index.isdecimal() else 0)
    facts = {"daemons": [f"{name}:{port}" for name, port in addresses]}
    return HostedGame(spec, lambda: DaemonMatch(daemon, spec, daemons), facts, deadline_s=daemon.silent_s + EXTRA_S)


if __name__ == "__main__":
    sys.exit(serve(make_game))
