"""Signals that ask a run to stop: SIGINT (Ctrl-C), SIGTERM and SIGHUP (its terminal was closed)."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OUTPUTS = (1, 2)  # descriptors of stdout and stderr
SHOW_CURSOR = b"\x1b[?25h\n"  # a live table hides it


class Interrupts:
    """Returns True, when called, if a signal has arrived. A second signal ends the process and its children at once."""

    def __init__(self) -> None:
        self._is_interrupted = False
        self._raises = False

    def __call__(self) -> bool:
        return self._is_interrupted

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise KeyboardInterrupt for a signal inside the block, and on entry for one that arrived before."""
        self._raises = True
        try:
            if self._is_interrupted:
                raise KeyboardInterrupt
            yield
        finally:
            self._raises = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_interrupted:
            _end(number)
        self._is_interrupted = True
        if number == signal.SIGHUP:
            _silence_lost_terminals()
        if self._raises:
            raise KeyboardInterrupt


@contextmanager
def handled() -> Iterator[Interrupts]:
    """Inside the block, handle the signals. Yields an object that says whether one has arrived.

    A SIGHUP that is ignored (nohup) stays ignored. Outside the main thread, which alone can handle signals, this does
    nothing.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    numbers = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupts.handle) for number in numbers}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int) -> None:
    """End this process with the default action of the signal, after showing the terminal's cursor again."""
    if os.isatty(OUTPUTS[0]):
        os.write(OUTPUTS[0], SHOW_CURSOR)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _silence_lost_terminals() -> None:
    """Redirect output to /dev/null if its terminal was closed, so that a failing write does not prevent saving."""
    for descriptor in OUTPUTS:
        try:
            os.write(descriptor, b"")
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
