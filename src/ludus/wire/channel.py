"""Ways for a host written in Python to exchange frames: pipes, and memory for tests."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import Protocol

from ludus.errors import ProtocolError
from ludus.wire.frames import FrameKind
from ludus.wire.stream import FrameReader


class Channel(Protocol):
    """The host's end. Frames go out in the order of `send`."""

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        """The next frame; waits for it. None: the other side is gone, which means stop."""
        ...

    def send(self, frame: bytes) -> None:
        """Send a whole frame; may be called from any thread."""
        ...


class PipeChannel:
    """Blocking frames over two descriptors, which it does not close."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._sending = threading.Lock()
        self._reader = FrameReader()

    @classmethod
    def take_stdio(cls) -> PipeChannel:
        """Frames over what stdin and stdout are now. From then on, for this process and those it starts, what is
        written to stdout goes to stderr, and stdin is at its end: frames are nobody else's to read or write."""
        sys.stdout.flush()
        read_fd, write_fd = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        return cls(read_fd, write_fd)

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        while True:
            for frame in self._reader:
                return frame
            count = os.readv(self._read_fd, (self._reader.space(),))
            if count == 0:
                self._reader.close()
                return None
            self._reader.filled(count)

    def send(self, frame: bytes) -> None:
        rest = memoryview(frame)
        with self._sending:
            while rest:
                rest = rest[os.write(self._write_fd, rest) :]


class MemoryChannel:
    """One end of a pair; every wait has a deadline, so that a broken test fails and does not hang."""

    def __init__(
        self, incoming: queue.Queue[bytes | None], outgoing: queue.Queue[bytes | None], timeout_s: float
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._timeout_s = timeout_s
        self._reader = FrameReader()

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        while True:
            for frame in self._reader:
                return frame
            try:
                data = self._incoming.get(timeout=self._timeout_s)
            except queue.Empty:
                raise ProtocolError(f"nothing came within {self._timeout_s} s") from None
            if data is None:
                self._reader.close()
                return None
            self._reader.feed(data)

    def send(self, frame: bytes) -> None:
        self._outgoing.put(frame)

    def close(self) -> None:
        """The other end receives None after what was sent before."""
        self._outgoing.put(None)


def memory_pair(timeout_s: float = 10.0) -> tuple[MemoryChannel, MemoryChannel]:
    """Two ends: what one sends the other receives."""
    there: queue.Queue[bytes | None] = queue.Queue()
    back: queue.Queue[bytes | None] = queue.Queue()
    return MemoryChannel(there, back, timeout_s), MemoryChannel(back, there, timeout_s)
