"""A host written in Python, in a thread, spoken to over memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ludus.sdk.match import MakeGame
from ludus.sdk.serve import serve
from ludus.spec import GameSpec
from ludus.wire import bodies, frames
from ludus.wire.channel import MemoryChannel, memory_pair
from ludus.wire.frames import FrameKind


class Fleet:
    """The other end of the memory channel."""

    def __init__(self, channel: MemoryChannel, spec: GameSpec) -> None:
        self.channel = channel
        self._spec = spec

    def configure(self, matches: int = 1, **fields: Any) -> None:  # Any: fields of Configure
        self.channel.send(frames.encode_configure(bodies.Configure(matches, fields.pop("options", {}), 1, **fields)))

    def act(self, rows: list[int], actions: list[int]) -> None:
        self.channel.send(frames.encode_actions(np.array(rows, np.int32), np.array(actions, np.int32)))

    def next(self, kind: FrameKind) -> memoryview:
        frame = self.channel.receive()
        assert frame is not None
        assert frame[0] is kind, (frame[0], bytes(frame[1]))
        return frame[1]

    def arrivals(self) -> bodies.ArrivalsBody:
        return frames.decode_arrivals(self.next(FrameKind.ARRIVALS), self._spec.actions, self._spec.obs.nbytes)

    def ending(self) -> bodies.EndingHead:
        return frames.decode_ending(self.next(FrameKind.ENDING), self._spec.seats, self._spec.obs.nbytes)[0]

    def error(self) -> bodies.ErrorBody:
        return frames.decode_error(self.next(FrameKind.ERROR))


@contextmanager
def served(make: MakeGame, spec: GameSpec, expected_status: int = 0) -> Iterator[Fleet]:
    """Stops with the end of its channel."""
    ours, theirs = memory_pair()
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(serve(make, theirs)))
    thread.start()
    try:
        yield Fleet(ours, spec)
    finally:
        ours.close()
        thread.join(10.0)
    assert status == [expected_status]
