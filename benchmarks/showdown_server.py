"""A real Showdown server, loopback only, from the installed package, which it leaves untouched."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.games.showdown.install import Installation
from ludus.hosting.launch import tied

START_DEADLINE_S = 60.0
OWN_FOLDERS = ("config", "logs", "databases")  # the server writes into these; everything else is linked
CONFIG = """
exports.bindaddress = '127.0.0.1';
exports.repl = false;
exports.subprocesses = {subprocesses};
exports.wsdeflate = null;
exports.reportjoins = false;
"""


@contextmanager
def serve(found: Installation, subprocesses: str) -> Iterator[int]:
    """Start a server and yield its port; `subprocesses` is that line of its configuration, in JavaScript."""
    with tempfile.TemporaryDirectory(prefix="ludus-server-", ignore_cleanup_errors=True) as folder:
        root = _overlay(found.root, Path(folder), subprocesses)
        port = _free_port()
        flags = ["--preserve-symlinks", "--preserve-symlinks-main", "--no-flush-bytecode", "--no-memory-reducer"]
        command = [str(found.node), *flags, "pokemon-showdown", "start", "--skip-build", "--no-security", str(port)]
        with (root / "server.log").open("wb") as log:
            server = subprocess.Popen(tied(tuple(command)), cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _wait_until_open(port, server, root / "server.log")
            yield port
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _overlay(package: Path, folder: Path, subprocesses: str) -> Path:
    """A folder that looks like the package, with configuration, logs and databases of its own."""
    root = folder / "pokemon-showdown"
    root.mkdir()
    (folder / "node_modules").symlink_to(package.parent)
    for entry in package.iterdir():
        if entry.name not in OWN_FOLDERS:
            (root / entry.name).symlink_to(entry)
    for name in OWN_FOLDERS:
        (root / name).mkdir()
        for entry in (package / name).iterdir() if (package / name).is_dir() else ():
            (root / name / entry.name).symlink_to(entry)
    (root / "logs" / "repl").mkdir()
    (root / "config" / "chat-plugins").mkdir()
    example = (package / "config" / "config-example.js").read_text()
    (root / "config" / "config.js").write_text(example + CONFIG.format(subprocesses=subprocesses))
    return root


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_until_open(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the Showdown server did not start: {log.read_text(errors='replace')[-2000:]}")
