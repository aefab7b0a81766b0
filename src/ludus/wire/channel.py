"""Channels over which a host written in Python exchanges frames: pipes, or queues in memory for tests."""

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
    """The host's end of a connection to a fleet. Frames are sent in the order of the `send` calls."""

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        """Wait for the next frame and return it. Returns None if the other side has closed: the host should stop."""
        ...

    def send(self, frame: bytes) -> None:
        """Send a whole frame; may be called from any thread."""
        ...


class PipeChannel:
    """Sends and receives frames over two blocking descriptors. It does not close them."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._sending = threading.Lock()
        self._reader = FrameReader()

    @classmethod
    def take_stdio(cls) -> PipeChannel:
        """Return a channel over stdin and stdout, and take both away from the rest of the program.

        Afterwards, in this process and in those it starts, output to stdout goes to stderr and stdin is empty, so that
        a `print` cannot corrupt a frame.
        """
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
    """One end of a pair in memory, for tests. Every wait has a deadline, so that a broken test does not hang."""

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
        """Close the channel: the other end receives None after all frames that were sent."""
        self._outgoing.put(None)


def memory_pair(timeout_s: float = 10.0) -> tuple[MemoryChannel, MemoryChannel]:
    """Return two connected channels: each receives what the other sends."""
    there: queue.Queue[bytes | None] = queue.Queue()
    back: queue.Queue[bytes | None] = queue.Queue()
    return MemoryChannel(there, back, timeout_s), MemoryChannel(back, there, timeout_s)
