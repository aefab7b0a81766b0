"""Splits the byte stream of a pipe or socket into frames. Pure: bytes in, frames out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.wire.bodies import VERSION
from ludus.wire.frames import HEADER, HEADER_BYTES, MAGIC, MAX_BODIES, Bytes, FrameKind

CHUNK_BYTES, CHUNK_BYTES_MOST = 1 << 16, 2 << 20  # bounds of a chunk; within them, twice the largest frame so far
_TEXT = bytes(range(32, 127)) + b"\r\n\t"

Kind = TypeVar("Kind", bound=IntEnum)


class FrameFormat(NamedTuple, Generic[Kind]):
    """The numbers that tell the frames of one protocol from those of another. All have the same 8-byte header."""

    magic: int
    version: int
    kinds: Mapping[int, Kind]  # a plain int hashes faster than an enum member
    max_bodies: Mapping[int, int]  # bytes, by kind

    @classmethod
    def of(cls, magic: int, version: int, max_bodies: Mapping[Kind, int]) -> FrameFormat[Kind]:
        """Return the format of a protocol whose kinds of frames are the keys of `max_bodies`."""
        sizes = {int(kind): size for kind, size in max_bodies.items()}
        return FrameFormat(magic, version, {int(kind): kind for kind in max_bodies}, sizes)


HOST_FRAMES = FrameFormat.of(MAGIC, VERSION, MAX_BODIES)


class FrameSplitter(Generic[Kind]):
    """Splits a stream into frames of one format.

    Either read from a descriptor into `space()` and call `filled` with the number of bytes, or pass bytes to `feed`.
    Then iterate over the complete frames. Bodies are views of large chunks: 8-byte aligned and never overwritten.
    """

    def __init__(self, frame_format: FrameFormat[Kind]) -> None:
        self._format = frame_format
        self.max_bodies = frame_format.max_bodies  # may be replaced while no frame is partial
        self._chunk = memoryview(b"")
        self._start = 0  # of the current frame, in the chunk
        self._end = 0  # of the bytes received, in the chunk
        self._kind: Kind | None = None  # of the current frame; None while its header is incomplete
        self._size = HEADER_BYTES  # of the current frame; that of a header until the header is complete
        self._usual = CHUNK_BYTES
        self._frames: deque[tuple[Kind, memoryview]] = deque()

    @property
    def partial(self) -> bool:
        """True if a part of a frame has been received."""
        return self._end > self._start

    def space(self) -> memoryview:
        """Return the buffer to read the next bytes into. It has room for the rest of the current frame, or more."""
        if self._start == self._end:
            self._start = self._end = (self._end + 7) & ~7  # bodies that are not aligned to 8 bytes would be copied
        room = len(self._chunk) - self._start
        if room < self._size or room < self._usual // 2:
            self._begin_chunk()
        return self._chunk[self._end :]

    def filled(self, count: int) -> None:
        """Take in `count` bytes that were written into `space()`. Raises ProtocolError for an invalid header."""
        self._end += count
        while self._end - self._start >= self._size:
            if self._kind is None:
                self._read_header()
                continue
            body = self._chunk[self._start + HEADER_BYTES : self._start + self._size]
            if self._start % 8:
                body = memoryview(bytearray(body))
            self._frames.append((self._kind, body))
            self._start += self._size
            self._kind, self._size = None, HEADER_BYTES

    def feed(self, data: Bytes) -> None:
        """Take in these bytes, by copying them. Raises ProtocolError for an invalid header."""
        data = memoryview(data)
        while data:
            space = self.space()
            count = min(len(space), len(data))
            space[:count] = data[:count]
            self.filled(count)
            data = data[count:]

    def __iter__(self) -> Iterator[tuple[Kind, memoryview]]:
        """Yield and remove the complete frames, oldest first, as (kind, body)."""
        while self._frames:
            yield self._frames.popleft()

    def close(self) -> None:
        """Call at the end of the stream. Raises ProtocolError if it ended within a frame."""
        have = self._end - self._start
        if self._kind is not None:
            progress = f"{have - HEADER_BYTES} of {self._size - HEADER_BYTES} bytes of a {self._kind.name} body"
            raise ProtocolError(f"stream ended within a frame, after {progress}", HostFault.FRAME_CUT)
        if have:
            head = bytes(self._chunk[self._start : self._end])
            fault = HostFault.TEXT_ON_STDOUT if _is_text(head) else HostFault.FRAME_CUT
            message = f"stream ended within a frame, after {have} of {HEADER_BYTES} header bytes{_text_hint(head)}"
            raise ProtocolError(message, fault)

    def _begin_chunk(self) -> None:
        """Allocate another chunk and copy the received part of the current frame to it. Bodies keep the old chunk."""
        start_of_frame = self._chunk[self._start : self._end]  # empty if both are behind the chunk's end
        # np.empty, unlike bytearray, does not clear the memory
        self._chunk = np.empty(max(self._usual, HEADER_BYTES + self._size), np.uint8).data
        self._start, self._end = HEADER_BYTES, HEADER_BYTES + len(start_of_frame)  # the body begins at 16
        self._chunk[self._start : self._end] = start_of_frame

    def _read_header(self) -> None:
        magic, version, kind, size = HEADER.unpack_from(self._chunk, self._start)
        expects = self._format
        if magic != expects.magic:
            head = bytes(self._chunk[self._start : self._start + HEADER_BYTES])
            fault = HostFault.TEXT_ON_STDOUT if _is_text(head) else HostFault.FRAME_START
            expected = f"expected {expects.magic.to_bytes(2, 'little')!r}{_text_hint(head)}"
            raise ProtocolError(f"frame begins with {head!r}, {expected}", fault)
        if version != expects.version:
            raise ProtocolError(f"frame has version {version}, expected {expects.version}", HostFault.FRAME_HEADER)
        if kind not in expects.kinds:
            raise ProtocolError(f"frame has unknown kind {kind}", HostFault.FRAME_HEADER)
        if size > self.max_bodies[kind]:
            raise ProtocolError(
                f"{expects.kinds[kind].name} frame announces {size} bytes, allowed are {self.max_bodies[kind]}",
                HostFault.FRAME_LENGTH,
            )
        if len(self._frames) >= limits.FRAMES_UNREAD:
            raise ProtocolError(f"more than {limits.FRAMES_UNREAD:,} frames came at once", HostFault.FRAME_FLOOD)
        self._kind, self._size = expects.kinds[kind], HEADER_BYTES + size
        if 2 * size > self._usual:
            self._usual = min(2 * size, CHUNK_BYTES_MOST)


class FrameReader(FrameSplitter[FrameKind]):
    """Splits the stream between a fleet and a host."""

    def __init__(self) -> None:
        super().__init__(HOST_FRAMES)


def _text_hint(head: bytes) -> str:
    return f"; {head!r} is text, and belongs on stderr" if _is_text(head) else ""


def _is_text(head: bytes) -> bool:
    return all(byte in _TEXT for byte in head)
