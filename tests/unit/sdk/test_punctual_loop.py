"""The event loop of hosts whose matches wait."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import pytest

from ludus.sdk.punctual_loop import punctual_loop

DEADLINE_S = 20.0


@pytest.mark.skipif(sys.platform != "linux", reason="loops of other systems are not made here")
def test_a_fraction_of_a_millisecond_is_not_rounded_up() -> None:
    async def shortest() -> float:
        spans = []
        for _ in range(30):
            began = time.perf_counter()
            await asyncio.sleep(0.0002)
            spans.append(time.perf_counter() - began)
        return min(spans)

    loop = punctual_loop()
    try:
        assert 0.0002 <= loop.run_until_complete(shortest()) < 0.001
    finally:
        loop.close()


def test_other_threads_wake_it_while_it_waits_for_a_timer() -> None:
    loop = punctual_loop()
    woken = asyncio.Event()

    async def wait() -> None:
        threading.Timer(0.01, lambda: loop.call_soon_threadsafe(woken.set)).start()
        await asyncio.wait_for(woken.wait(), DEADLINE_S)

    try:
        began = time.monotonic()
        loop.run_until_complete(wait())
        assert time.monotonic() - began < DEADLINE_S
    finally:
        loop.close()
