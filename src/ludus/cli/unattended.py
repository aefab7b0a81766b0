"""Trains in a child process, and continues the run from its last checkpoint if that process or its cluster is lost."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer

CHILD = "LUDUS_UNATTENDED"  # set in the child process
CLUSTER_LOST = 75  # exit code of a run whose cluster is lost (EX_TEMPFAIL)
LOSSES = (1, CLUSTER_LOST)  # Ray ends a process with 1 if it finds itself in a state that it does not know
INTERRUPTED = 128  # exit codes from here on are of signals
DELAYS_S = (5.0, 10.0, 20.0, 40.0, 60.0)  # before each attempt; the last one repeats
GIVE_UP_S = 900.0  # without a new checkpoint
ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
log = logging.getLogger(__name__)


def is_child() -> bool:
    """Return whether this process was started by `train`."""
    return CHILD in os.environ


def train(first: Sequence[str], again: Sequence[str], folder: Path) -> int:
    """Run `ludus` with the words `first`, and after each loss with `again`. Returns the exit code of the last process.

    A loss is a crash, a signal that nobody has sent on purpose (the kernel's OOM killer), or the loss of the cluster.
    Errors end the run, unless they come after a loss: the cluster may need minutes until it is back.
    """
    from ludus.run.folder import latest  # here, because it loads PyTorch, which not all commands need

    code, lost_s, attempts = _run(first), 0.0, 0
    before = latest(folder)
    while code in LOSSES or code in _deadly() or (attempts and 0 < code < INTERRUPTED):
        now = latest(folder)
        if now is None:
            break
        if now != before or not attempts:
            before, lost_s, attempts = now, time.monotonic(), 0
        if time.monotonic() - lost_s > GIVE_UP_S:
            break
        delay_s = DELAYS_S[min(attempts, len(DELAYS_S) - 1)]
        attempts += 1
        typer.echo(f"ludus: the learner is lost ({_words(code)}); going on from {now.name} in {delay_s:g} s", err=True)
        if not _waits(delay_s):
            break
        code = _run(again)
    return code if code >= 0 else 128 - code


def _run(words: Sequence[str]) -> int:
    """Run `ludus` and return its exit code. Signals that ask for the end are passed on to it."""
    process = subprocess.Popen([sys.executable, "-P", "-m", "ludus", *words], env={**os.environ, CHILD: "1"})
    with _passed_on(process):
        return process.wait()


@contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Inside the block, pass signals on to the process. The terminal itself sends it Ctrl-C."""

    def handle(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:
            process.send_signal(number)

    before = {number: signal.signal(number, handle) for number in ASKED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _waits(delay_s: float) -> bool:
    """Wait, and return False if the user has interrupted it."""
    try:
        time.sleep(delay_s)
    except KeyboardInterrupt:
        return False
    return True


def _deadly() -> list[int]:
    """Return the exit codes of processes that were ended by a signal, but not by one that asks for the end."""
    return [-number for number in signal.valid_signals() if number not in ASKED]


def _words(code: int) -> str:
    if code == CLUSTER_LOST:
        return "its cluster does not answer"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
