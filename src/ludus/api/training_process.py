"""One `ludus train` in a process of its own, which cannot outlive this one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ludus.processes.launch import tied

LEAVING_S = 120.0  # that a run may take to save itself after it was asked to stop
KILL_S = 10.0
INTERRUPTED = 130  # exit status of a run that saved itself because it was asked to stop


def ludus_command(*words: str) -> tuple[str, ...]:
    """Return a command line of ludus in this environment."""
    return (sys.executable, "-P", "-m", "ludus", *words)


class TrainingProcess:
    """A command of ludus that runs in the background. Its output is appended to a log."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        """Raises OSError if it cannot be started."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self._asked_s: float | None = None  # when it was asked to stop
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                tied(ludus_command(*words)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches only the supervisor, which then asks it to stop
            )
        self.pid = self._process.pid

    @property
    def leaving(self) -> bool:
        """True if the process was asked to stop."""
        return self._asked_s is not None

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs. A process that does not stop when asked is killed."""
        status = self._process.poll()
        if status is None and self._asked_s is not None and time.monotonic() - self._asked_s > LEAVING_S:
            self._process.kill()
        return status

    def ask_to_stop(self) -> None:
        """Let the run save a checkpoint and end. Does not wait."""
        if self._asked_s is None and self._process.poll() is None:
            self._asked_s = time.monotonic()
            self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Let it save itself, and wait until it has ended; kill it if that takes too long."""
        self.ask_to_stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVING_S)
        self._process.kill()
        self._process.wait(KILL_S)
