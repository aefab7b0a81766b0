"""A real Showdown server for as long as a measurement takes."""

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
    """Somebody else took the port between the choice and the start."""


def free_port() -> int:
    """One that the system has just given out; it may be taken before a server listens there."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serve(
    found: Installation, subprocesses: str, choose_port: Callable[[], int] = free_port, *, stock: bool = True
) -> Iterator[int]:
    """Start a server and yield its port; `subprocesses` is that line of its configuration, in JavaScript. Unless it is
    `stock`, it is one as `ludus servers` runs them."""
    with tempfile.TemporaryDirectory(prefix="ludus-server-", ignore_cleanup_errors=True) as folder:
        root, log = overlay.lay(found.root, Path(folder), subprocesses, stock=stock), Path(folder) / "server.log"
        server = _started(found, root, log, choose_port)
        try:
            yield server.port
        finally:
            server.terminate()
            server.reap(LEAVE_S)


def _started(found: Installation, root: Path, log: Path, choose_port: Callable[[], int]) -> ShowdownServer:
    for _ in range(PORTS_TRIED):
        log.unlink(missing_ok=True)
        server = ShowdownServer(found, root, choose_port(), log, warm=True)
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
