"""A real Showdown server for as long as a measurement takes."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, ports, probe
from ludus.games.showdown.servers.server import ShowdownServer

START_DEADLINE_S = 60.0
LEAVE_S = 10.0


@contextmanager
def serve(found: Installation, subprocesses: str) -> Iterator[int]:
    """Start a server and yield its port; `subprocesses` is that line of its configuration, in JavaScript."""
    with tempfile.TemporaryDirectory(prefix="ludus-server-", ignore_cleanup_errors=True) as folder:
        root, log = overlay.lay(found.root, Path(folder), subprocesses), Path(folder) / "server.log"
        server = ShowdownServer(found, root, ports.choose(1, None)[0], log)
        try:
            _wait_until_ready(server, log)
            yield server.port
        finally:
            server.terminate()
            server.reap(LEAVE_S)


def _wait_until_ready(server: ShowdownServer, log: Path) -> None:
    until = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < until and not server.exited():
        try:
            asyncio.run(asyncio.wait_for(probe.ask(server.port, server.token), START_DEADLINE_S))
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the Showdown server did not start: {log.read_text(errors='replace')[-2000:]}")
