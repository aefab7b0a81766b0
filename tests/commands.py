"""`ludus` in a process of its own, as a user runs it, without a terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

LUDUS = (sys.executable, "-m", "ludus")
DEADLINE_S = 120.0


def ludus(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LUDUS, *words], cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL
    )


def interrupted(folder: Path, when: Callable[[str], bool], *words: str) -> tuple[int, str]:
    """Presses Ctrl-C at the first line for which `when` holds; the exit code, and what was said after that line."""
    with subprocess.Popen(
        [*LUDUS, *words], cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            assert process.stdout is not None
            if any(when(line) for line in process.stdout):
                process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
        finally:
            deadline.cancel()
    return process.returncode, rest
