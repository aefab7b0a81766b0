"""A real Showdown server for the duration of a measurement."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, probe
from ludus.games.showdown.servers.ports import LOOPBACK
from ludus.games.showdown.servers.server import ShowdownServer

START_DEADLINE_S = 60.0
ANSWER_DEADLINE_S = 5.0
LEAVE_S = 10.0
PORTS_TRIED = 5


class PortTakenError(Exception):
    """Another program took the port between choosing it and starting the server."""


def free_port() -> int:
    """Return a free port. Another program may take it before the server listens on it."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serve(
    installation: Installation, subprocesses: str, choose_port: Callable[[], int] = free_port, *, stock: bool = True
) -> Iterator[int]:
    """Start a server and yield its port.

    `subprocesses` is that line of its configuration, in JavaScript. Unless `stock` is set, the server is the one that
    `ludus servers` runs.
    """
    with tempfile.TemporaryDirectory(prefix="ludus-server-", ignore_cleanup_errors=True) as folder:
        root, log = overlay.lay(installation.root, Path(folder), subprocesses, stock=stock), Path(folder) / "server.log"
        server = _started(installation, root, log, choose_port)
        try:
            yield server.port
        finally:
            server.terminate()
            server.reap(LEAVE_S)


def _started(installation: Installation, root: Path, log: Path, choose_port: Callable[[], int]) -> ShowdownServer:
    for _ in range(PORTS_TRIED):
        log.unlink(missing_ok=True)
        server = ShowdownServer(installation, root, choose_port(), log, warm=True)
        try:
            _wait_until_ready(server, log)
            return server
        except PortTakenError:
            server.reap()
        except BaseException:
            server.reap()
            raise
    raise RuntimeError(f"{PORTS_TRIED} ports for a Showdown server were taken before it could listen")


def _wait_until_ready(server: ShowdownServer, log: Path) -> None:
    until = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < until and not server.exited():
        try:
            asyncio.run(asyncio.wait_for(probe.ask(server.port, server.token), ANSWER_DEADLINE_S))
            return
        except probe.StrangerError as stranger:
            raise PortTakenError(str(stranger)) from stranger
        except OSError:  # not there yet, or too busy to answer
            if "EADDRINUSE" in log.read_text(errors="replace"):  # Showdown notes it and lives on
                raise PortTakenError(str(server.port)) from None
            time.sleep(0.1)
    raise RuntimeError(f"the Showdown server did not start: {log.read_text(errors='replace')[-2000:]}")
