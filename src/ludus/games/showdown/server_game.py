"""Entry point of Pokemon Showdown on servers: the same game, its battles played over WebSockets."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ludus.games.registry import Game
from ludus.games.showdown import game as embedded
from ludus.games.showdown import install
from ludus.hosting.command import HostCommand

LOCAL_SERVER = "ws://127.0.0.1:8000/showdown/websocket"

Seconds = Annotated[float, Meta(gt=0)]


class ShowdownServerOptions(embedded.ShowdownOptions, frozen=True, forbid_unknown_fields=True):
    """Each host has two accounts on every server, which challenge each other."""

    servers: tuple[str, ...] = (LOCAL_SERVER,)
    name: str = "ludus"  # accounts are called this and six letters more
    start_deadline_s: Seconds = 15.0  # from wanting a battle to its first request; then the match is voided
    silence_deadline_s: Seconds = 20.0  # in which a server that has all choices must answer; then, too


def command(options: ShowdownServerOptions) -> HostCommand:
    """Install the simulator, whose data the host needs, where it is missing (SetupError), then say how to start one."""
    installed = install.ensure(options.node)
    host = embedded.HERE / "host" / "server" / "host.js"
    return HostCommand((str(installed.node), *embedded.NODE_FLAGS, str(host), "--sim", str(installed.root)))


game = Game(
    name="showdown-server",
    summary="the same battles on Showdown servers, over WebSockets",
    options=ShowdownServerOptions,
    command=command,
    scripted=embedded.game.scripted,
    net=embedded.game.net,
    presets=embedded.game.presets,
    formats=embedded.game.formats,
    local=embedded.game.local | {"servers"},
    page=embedded.game.page,
    prepare=embedded.prepare,
)
