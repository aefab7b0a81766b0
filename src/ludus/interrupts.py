"""Signals that ask a run to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM came. The second ends the process at once; its children end with it."""
    seen: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if seen:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # only the main thread may handle signals
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
