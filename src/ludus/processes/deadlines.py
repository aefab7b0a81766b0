"""Calls that must not keep this process waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable


def bounded(action: Callable[[], object], timeout_s: float) -> None:
    """Run an action in a thread and wait for it, at most for `timeout_s`. It goes on in the background after that."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(timeout_s)
