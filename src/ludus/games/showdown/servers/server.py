"""One server process. Nothing here waits for it, except `reap`."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers.ports import LOOPBACK
from ludus.processes.launch import tied

# --preserve-symlinks: overlay.py. Without the other two a server that waits loses its compiled code.
NODE_FLAGS = ("--preserve-symlinks", "--preserve-symlinks-main", "--no-flush-bytecode", "--no-memory-reducer")
REAP_S = 5.0
LOG_TAIL_BYTES = 4096


def address(port: int) -> str:
    return f"ws://{LOOPBACK}:{port}/showdown/websocket"


class ShowdownServer:
    """Starts at once, from a folder that overlay.py made; its output goes to the end of `log`.

    `warm`: it answers once the rules of all formats are loaded, four seconds of a core that the first connection would
    have to wait for.

    It dies with the thread that made it (PR_SET_PDEATHSIG): make it in a thread that lives as long as it shall.
    """

    def __init__(self, installation: Installation, root: Path, port: int, log: Path, *, warm: bool = False) -> None:
        self.port, self.token = port, secrets.token_hex(16)
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        start = ("pokemon-showdown", "start", "--skip-build", "--no-security", str(port))
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                tied((str(installation.node), *NODE_FLAGS, *start)),
                cwd=root,
                stdin=subprocess.PIPE,  # held open, never written to: control.js
                stdout=output,
                stderr=output,
                env={**os.environ, "LUDUS_SERVER_TOKEN": self.token, "LUDUS_SERVER_WARM": "1" if warm else ""},
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exited(self) -> str:
        """Return how the process ended, with its last error line, or an empty text while it runs."""
        status = self._process.poll()
        if status is None:
            return ""
        how = f"exited with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
        last = self._last_line() if status > 0 else ""
        return f"{how}: {last}" if last else how

    def memory_mib(self) -> float:
        """Return its resident memory in MiB, or 0 if it has exited."""
        try:
            return float(psutil.Process(self.pid).memory_info().rss) / 2**20
        except psutil.Error:
            return 0.0

    def terminate(self) -> None:
        """Send SIGTERM. A process stopped by SIGSTOP does not react to it."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def reap(self, grace_s: float = 0.0) -> None:
        """Wait up to `grace_s` for the process to exit, then kill it and its children."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # and what it started
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_S)

    def _last_line(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
        errors = [line for line in lines if "Error" in line]
        return next(reversed(errors or [line for line in lines if line]), "")
