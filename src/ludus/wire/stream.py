"""Cuts the stream of a pipe or socket into frames. Pure: bytes in, frames out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.wire.frames import HEADER, HEADER_BYTES, MAGIC, MAX_BODIES, VERSION, Bytes, FrameKind

CHUNK_BYTES, CHUNK_BYTES_MOST = 1 << 16, 2 << 20  # taken from a stream at once: twice its largest frame, within these
_NAMES = {int(kind): kind for kind in FrameKind}
_ALLOWED = {int(kind): size for kind, size in MAX_BODIES.items()}  # hashing a plain int takes a tenth of the time
_TEXT = bytes(range(32, 127)) + b"\r\n\t"


class FrameReader:
    """Cuts a stream into frames. Fill `space()` straight from a descriptor and say how much came with `filled`, or
    `feed` bytes; then iterate over the frames that are complete. Bodies are 8-byte aligned and not written to again.

    Bytes are taken in large chunks, so that one read brings all that a host has written, and not copied.
    """

    def __init__(self) -> None:
        self._chunk = memoryview(b"")
        self._start = 0  # of the current frame, in the chunk
        self._end = 0  # of what has come
        self._kind: FrameKind | None = None  # of the current frame; None: its header is incomplete
        self._size = HEADER_BYTES  # of the current frame, as far as it is known
        self._usual = CHUNK_BYTES
        self._frames: deque[tuple[FrameKind, memoryview]] = deque()

    @property
    def partial(self) -> bool:
        """Whether a frame has begun and is not complete."""
        return self._end > self._start

    def space(self) -> memoryview:
        """Where the next bytes belong: room for the rest of the current frame, and mostly for more."""
        if self._start == self._end:
            self._start = self._end = (self._end + 7) & ~7  # a body that begins elsewhere is copied
        room = len(self._chunk) - self._start
        if room < self._size or room < self._usual // 2:
            self._begin_chunk()
        return self._chunk[self._end :]

    def filled(self, count: int) -> None:
        """`count` bytes were written into `space()`. Raises ProtocolError on a bad header."""
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
        data = memoryview(data)
        while data:
            space = self.space()
            count = min(len(space), len(data))
            space[:count] = data[:count]
            self.filled(count)
            data = data[count:]

    def __iter__(self) -> Iterator[tuple[FrameKind, memoryview]]:
        """Complete frames, oldest first; each comes out once."""
        while self._frames:
            yield self._frames.popleft()

    def close(self) -> None:
        """The stream has ended. Raises ProtocolError when it did so within a frame."""
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
        """Leave the chunk to the bodies that were cut from it, and take what has come of the current frame along."""
        start_of_frame = self._chunk[self._start : self._end]  # nothing, where both are behind its end
        # np.empty, unlike bytearray, does not touch the memory
        self._chunk = np.empty(max(self._usual, HEADER_BYTES + self._size), np.uint8).data
        self._start, self._end = HEADER_BYTES, HEADER_BYTES + len(start_of_frame)  # the body begins at 16
        self._chunk[self._start : self._end] = start_of_frame

    def _read_header(self) -> None:
        magic, version, kind, size = HEADER.unpack_from(self._chunk, self._start)
        if magic != MAGIC:
            head = bytes(self._chunk[self._start : self._start + HEADER_BYTES])
            fault = HostFault.TEXT_ON_STDOUT if _is_text(head) else HostFault.FRAME_START
            expected = f"expected {MAGIC.to_bytes(2, 'little')!r}{_text_hint(head)}"
            raise ProtocolError(f"frame begins with {head!r}, {expected}", fault)
        if version != VERSION:
            raise ProtocolError(f"frame has version {version}, expected {VERSION}", HostFault.FRAME_HEADER)
        if kind not in _NAMES:
            raise ProtocolError(f"frame has unknown kind {kind}", HostFault.FRAME_HEADER)
        if size > _ALLOWED[kind]:
            raise ProtocolError(
                f"{_NAMES[kind].name} frame announces {size} bytes, allowed are {_ALLOWED[kind]}",
                HostFault.FRAME_LENGTH,
            )
        if len(self._frames) >= limits.FRAMES_UNREAD:
            raise ProtocolError(f"more than {limits.FRAMES_UNREAD:,} frames came at once", HostFault.FRAME_FLOOD)
        self._kind, self._size = _NAMES[kind], HEADER_BYTES + size
        if 2 * size > self._usual:
            self._usual = min(2 * size, CHUNK_BYTES_MOST)


def _text_hint(head: bytes) -> str:
    return f"; {head!r} is text, and belongs on stderr" if _is_text(head) else ""


def _is_text(head: bytes) -> bool:
    return all(byte in _TEXT for byte in head)
