"""The node's side of a learner that Ray has placed: runs `ludus` in a process of its own and passes its output on."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from ludus.processes import launch
from ludus.processes.command import ISOLATED

LUDUS = (*ISOLATED, "ludus")
READ_BYTES = 1 << 16
# set by Ray for its own processes: the learner computes with all cores that it may use
LIMITS = ("OMP_NUM_THREADS",)


class LearnerProcess:
    """Runs `ludus` once. The process cannot outlive this one. Several threads may call at the same time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._output = bytearray()
        self._code: int | None = None
        self._arrived = threading.Condition()

    def sees(self, path: str) -> bool:
        """Return whether this machine has this file, as the machine of the user has it."""
        return Path(path).is_file()

    def start(self, words: Sequence[str], folder: str, env: dict[str, str]) -> str:
        """Run `ludus` with these words in this folder. Returns "", or why the process cannot be started."""
        started = threading.Event()
        problems: list[str] = []
        # Linux ends the process when the thread that has started it ends
        thread = threading.Thread(target=self._work, args=(words, folder, env, started, problems), daemon=True)
        thread.start()
        started.wait()
        return problems[0] if problems else ""

    def output(self, timeout_s: float) -> tuple[bytes, int | None]:
        """Return what it has printed since the last call, and its exit code if it has ended.

        Waits for one of them, at most for `timeout_s`.
        """
        with self._arrived:
            self._arrived.wait_for(lambda: self._output or self._code is not None, timeout_s)
            data, self._output = bytes(self._output), bytearray()
            return data, self._code

    def signal(self, number: int) -> None:
        """Send a signal to the process, unless it has ended."""
        if self._process is not None:
            self._process.send_signal(number)

    def _work(
        self,
        words: Sequence[str],
        folder: str,
        env: dict[str, str],
        started: threading.Event,
        problems: list[str],
    ) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in LIMITS}
        try:
            process = subprocess.Popen(
                launch.tied((*LUDUS, *words)),
                cwd=folder,
                env={**inherited, **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            problems.append(str(error))
            return
        finally:
            started.set()
        self._process = process
        assert process.stdout is not None
        with process.stdout as stdout:
            while data := os.read(stdout.fileno(), READ_BYTES):
                with self._arrived:
                    self._output += data
                    self._arrived.notify_all()
        with self._arrived:
            self._code = process.wait()
            self._arrived.notify_all()
