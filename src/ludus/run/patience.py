"""Retries the last checkpoint of a run for a limited time, in case the disk is full."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LAST_S = 60.0  # how long a run retries its last checkpoint before it ends without one
FIRST_PAUSE_S = 1.0  # each further pause is twice as long
POLL_S = 0.1
log = logging.getLogger(__name__)


def patiently(
    write: Callable[[], bool],
    stopped: Callable[[], bool],
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Call `write` until it returns True, for at most `LAST_S`. Returns False if it never did.

    If `stopped` becomes True during the call, the retries end. A run that was stopped before the call retries like any
    other.
    """
    until_s, pause_s, was_stopped = clock_s() + LAST_S, FIRST_PAUSE_S, stopped()
    while not write():
        left_s = until_s - clock_s()
        if left_s <= 0:
            log.error("the last checkpoint could not be written for %g s: giving up", LAST_S)
            return False
        log.warning("trying again for up to %.0f s: free space on the disk; Ctrl-C exits at once", left_s)
        again_s = clock_s() + min(pause_s, left_s)
        pause_s *= 2
        while clock_s() < again_s:
            if stopped() and not was_stopped:
                log.error("interrupted before the last checkpoint could be written")
                return False
            sleep(POLL_S)
    return True
