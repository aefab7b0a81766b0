"""Tries to write something until a disk has room for it, for a limited time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LAST_S = 60.0  # that a run waits for room on the disk before it ends without its last checkpoint
FIRST_PAUSE_S = 1.0  # each pause is twice as long as the one before
POLL_S = 0.1
log = logging.getLogger(__name__)


def patiently(
    write: Callable[[], bool],
    stopped: Callable[[], bool],
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Call `write` until it returns True, for up to `LAST_S`; returns whether it did.

    A signal (`stopped`) that comes while this waits ends the waiting; one that came before does not.
    """
    until_s, pause_s, was_stopped = clock_s() + LAST_S, FIRST_PAUSE_S, stopped()
    while not write():
        left_s = until_s - clock_s()
        if left_s <= 0:
            log.error("the last checkpoint could not be written for %g s: giving up", LAST_S)
            return False
        log.warning("trying again for up to %.0f s: free space on the disk; Ctrl-C leaves at once", left_s)
        again_s = clock_s() + min(pause_s, left_s)
        pause_s *= 2
        while clock_s() < again_s:
            if stopped() and not was_stopped:
                log.error("interrupted before the last checkpoint could be written")
                return False
            sleep(POLL_S)
    return True
