"""Entry point of Pokemon Showdown on servers: the same game, its battles played over WebSockets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from ludus.config.settings import NonNegative, ServersConfig
from ludus.errors import ConfigError
from ludus.games.portable import text_like
from ludus.games.registry import Game, Served, ServersHealth
from ludus.games.showdown import game as embedded
from ludus.games.showdown import install
from ludus.games.showdown.servers.fleet import ServerFleet, ServerView
from ludus.games.showdown.servers.supervisor import Limits, ServerPhase
from ludus.processes.command import HostCommand

LOCAL_SERVER = "ws://127.0.0.1:8000/showdown/websocket"

PATIENCE_S = 40.0  # a server of ours that is started anew is back by then; less than fleet.hello_deadline_s

Seconds = Annotated[float, Meta(gt=0)]


class ShowdownServerOptions(embedded.ShowdownOptions, frozen=True, forbid_unknown_fields=True):
    """Each host has two accounts on every server, which challenge each other."""

    servers: tuple[str, ...] = (LOCAL_SERVER,)
    name: str = "ludus"  # accounts are called this and six letters more
    start_deadline_s: Seconds = 15.0  # from wanting a battle to its first request; then the match is voided
    silence_deadline_s: Seconds = 20.0  # in which a server that has all choices must answer; then, too
    patience_s: NonNegative = 0.0  # to wait for servers when a host starts, then do without those; 0: all must be there


def command(options: ShowdownServerOptions) -> HostCommand:
    """Install the simulator, whose data the host needs, if missing, and return the command that starts one."""
    installed = install.ensure(options.node)
    host = embedded.HERE / "host" / "server" / "host.js"
    return HostCommand((str(installed.node), *embedded.NODE_FLAGS, str(host), "--sim", str(installed.root)))


@contextmanager
def serve(options: ShowdownServerOptions, servers: ServersConfig, folder: Path) -> Iterator[Served]:
    """Start servers and yield options that use them. Raises ConfigError, SetupError or FleetError."""
    if options.servers != ShowdownServerOptions().servers:
        raise ConfigError(
            f"servers.count: {servers.count} servers would be started, but options.servers names "
            f"{', '.join(options.servers)}; leave one of the two out"
        )
    with ServerFleet(
        servers.count,
        base_port=servers.base_port or None,
        limits=Limits(memory_mib=servers.memory_mib),
        folder=folder.resolve(),
        installation=install.ensure(options.node),
        stock=options.stock_engine,
    ) as fleet:
        server_options = msgspec.structs.replace(
            options, servers=tuple(fleet.addresses()), patience_s=max(options.patience_s, PATIENCE_S)
        )
        yield Served(
            server_options,
            lambda: [view.pid for view in fleet.views() if view.pid is not None],
            lambda: health(fleet.views()),
        )


def health(views: Sequence[ServerView]) -> ServersHealth:
    """Sum up the state of all servers. `alive` counts those that accept new battles."""
    memory_mib = [view.memory_mib for view in views]
    return ServersHealth(
        total=len(views),
        alive=sum(view.state == ServerPhase.READY.value for view in views),
        restarts=sum(view.restarts for view in views),
        recycled=sum(view.recycled for view in views),
        memory_mib=sum(memory_mib),
        largest_mib=max(memory_mib, default=0.0),
    )


game = Game(
    name="showdown-server",
    summary="the same battles on Showdown servers, over WebSockets",
    options=ShowdownServerOptions,
    command=command,
    scripted=embedded.game.scripted,
    searching=embedded.game.searching,
    net=embedded.game.net,
    nets=embedded.game.nets,
    presets=embedded.game.presets,
    formats=embedded.game.formats,
    local=embedded.game.local | {"servers", "patience_s"},
    portable={**embedded.game.portable, "name": text_like("[A-Za-z0-9 _-]+")},
    page=embedded.game.page,
    prepare=embedded.prepare,
    table_lines=embedded.game.table_lines,
    exports=embedded.game.exports,
    stable_log=embedded.game.stable_log,
    memory=embedded.game.memory,
    serve=serve,
)
