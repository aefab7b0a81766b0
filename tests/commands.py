"""`ludus` as a user runs it, without a terminal: in a process of its own, or in this one, which is quicker."""

from __future__ import annotations

import io
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from ludus.cli.main import main

LUDUS = (sys.executable, "-m", "ludus")
DEADLINE_S = 120.0


def ludus(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LUDUS, *words], cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL
    )


def ludus_here(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `ludus` in this process, which has loaded PyTorch already. Its output is without that of child processes."""
    out, err = io.StringIO(), io.StringIO()
    log = logging.getLogger("ludus")
    level = log.level  # some commands change it
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(sys, "argv", ["ludus", *words]),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        else:
            code = 0
        finally:
            log.setLevel(level)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


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
