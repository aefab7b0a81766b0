"""An asyncio event loop with timers that are exact to microseconds. Used by `event_loop`."""

from __future__ import annotations

import asyncio
import select
import selectors
import sys

SELECTABLE = 1024  # select() accepts only descriptors below this


def punctual_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop. On Linux its timers are exact to microseconds, not rounded up to milliseconds."""
    if sys.platform != "linux":
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(_PunctualSelector())


if sys.platform == "linux":

    class _PunctualSelector(selectors.EpollSelector):
        """Waits with select() for epoll's own descriptor, which is readable when a watched descriptor is ready.

        epoll itself rounds its timeout up to whole milliseconds, which is much for a match that waits 5 ms.
        """

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and timeout > 0 and self.fileno() < SELECTABLE:
                select.select((self,), (), (), timeout)
                timeout = 0
            return super().select(timeout)
