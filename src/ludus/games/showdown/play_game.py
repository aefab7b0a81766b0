"""Starts hosts that play against strangers on a Showdown server. Their observations are those of the other hosts of the
game."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from ludus.errors import ConfigError
from ludus.games.showdown import game as embedded
from ludus.games.showdown import install
from ludus.games.showdown.server_game import LOCAL_SERVER
from ludus.processes.command import HostCommand

LOGIN_SERVER = "https://play.pokemonshowdown.com/action.php"

Seconds = Annotated[float, Meta(gt=0)]


class PlayOptions(embedded.ShowdownOptions, frozen=True, forbid_unknown_fields=True):
    """Options of one account on one server. `max_turns` and the rewards have no effect."""

    server: str = LOCAL_SERVER
    name: str = "ludus"  # the account's, exactly
    mode: Literal["accept", "challenge", "ladder"] = "accept"
    opponent: str = ""  # whom to challenge
    password_file: str | None = None  # its first line; None: a name that needs none
    login_server: str = LOGIN_SERVER  # who turns the password into what the server believes
    start_deadline_s: Seconds = 60.0  # from asking for a battle to its first request
    silence_deadline_s: Seconds = 600.0  # in which something must happen in a battle; then it is given up
    timer_after_s: Seconds = 90.0  # of waiting for the other player, after which the server's clock is asked for
    reconnect_deadline_s: Seconds = 600.0  # for a server that was lost to be there again


def command(options: PlayOptions) -> HostCommand:
    """Install the simulator, whose data the host needs, if missing, and return the command that starts one."""
    installed = install.ensure(options.node)
    host = embedded.HERE / "host" / "play" / "host.js"
    return HostCommand((str(installed.node), *embedded.NODE_FLAGS, str(host), "--sim", str(installed.root)))


def address(server: str) -> str:
    """Return the WebSocket address of a server that is given by its URL or by host and port."""
    text = server if "://" in server else f"ws://{server}"
    scheme, _, rest = text.partition("://")
    scheme = {"http": "ws", "https": "wss"}.get(scheme, scheme)
    parts = urlsplit(f"{scheme}://{rest}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if scheme not in ("ws", "wss") or not parts.hostname or port == 0:
        raise ConfigError(f"--server: {server!r} is no address; expected one like {LOCAL_SERVER}")
    path = parts.path if parts.path.strip("/") else "/showdown/websocket"
    return f"{scheme}://{parts.netloc}{path}"


def is_local(server: str) -> bool:
    """Return whether a server is on this machine."""
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
