"""A server and a page on this machine, for a person who plays against an agent: `ludus play AGENT --browser`."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from rich.console import Console

PERSON = "You"  # name of the person's account, which the page proposes


@contextmanager
def local_server(console: Console, node: str) -> Iterator[str]:
    """Run a Showdown server on a free port of loopback and return its address. Installs the simulator if needed."""
    from ludus.config.settings import ServersConfig
    from ludus.games import command_parts, registry
    from ludus.games.showdown.server_game import ShowdownServerOptions
    from ludus.processes import log_folder

    game = registry.load("showdown-server")
    command_parts.install(registry.load("showdown"), {"node": node}, console)
    with log_folder.temporary_log_folder("ludus-server-") as folder, ExitStack() as running:
        with console.status("starting a server"):
            servers = game.served(ShowdownServerOptions(node=node), ServersConfig(count=1), folder)
            address: str = running.enter_context(servers).options.servers[0]
        yield address


@contextmanager
def page(console: Console, server: str, opponent: str, battle_format: str) -> Iterator[str]:
    """Serve the page on a free port of loopback, show its address, open it in a browser, and return the address."""
    from ludus.games.showdown.servers import client

    with client.serve(server) as serving:
        thread = threading.Thread(target=serving.serve_forever, name="page", daemon=True)
        thread.start()
        query = f"name={PERSON}&opponent={quote(opponent)}&format={quote(battle_format)}"
        url = f"http://127.0.0.1:{serving.server_address[1]}/?{query}"
        console.print(
            f"Play here: {url}\nPress Challenge on the page when the agent is on the server. Ctrl-C ends it.",
            highlight=False,
            soft_wrap=True,
        )
        if console.is_terminal:
            webbrowser.open(url)  # does nothing on a machine without a browser
        try:
            yield url
        finally:
            serving.shutdown()
            thread.join()
