"""An event loop whose timers are punctual."""

from __future__ import annotations

import asyncio
import select
import selectors
import sys

SELECTABLE = 1024  # descriptors below this can be given to select


def punctual_loop() -> asyncio.AbstractEventLoop:
    """Where the system's own loop wakes to the millisecond, one that wakes to the microsecond."""
    if sys.platform != "linux":
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(_PunctualSelector())


if sys.platform == "linux":

    class _PunctualSelector(selectors.EpollSelector):
        """epoll rounds what it waits for up to whole milliseconds, which is much for a match that waits for five. Its
        own descriptor is readable when one of those it watches is ready, so it can itself be waited for."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and timeout > 0 and self.fileno() < SELECTABLE:
                select.select((self,), (), (), timeout)
                timeout = 0
            return super().select(timeout)
