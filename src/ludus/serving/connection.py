"""One client's connection to a server: reads frames, keeps answers until the client takes them. Never blocks."""

from __future__ import annotations

import socket
from collections import deque

from ludus.serving import protocol
from ludus.serving.protocol import Kind

READ_BYTES = 1 << 18  # of one recv
UNSENT_BYTES = 1 << 20  # answers that a client has not read, above which its asks are not read either
ASKS = 64  # of one client that wait, above which no more are read


class Connection:
    """A socket with its received frames and its unsent answers.

    Back-pressure: while `ASKS` asks wait or `UNSENT_BYTES` are unsent, `wants_read` is False, so that a client that
    floods the server fills its own socket.
    """

    def __init__(self, sock: socket.socket, peer: str, now_s: float) -> None:
        sock.setblocking(False)
        self.socket, self.peer = sock, peer
        self.client = ""  # the client's name; empty before its HELLO
        self.waiting = 0  # asks that wait for an answer
        self.close_at_s: float | None = None  # set when it was refused or has left: close at the latest then
        self.heard_s = self.wrote_s = now_s  # when bytes last came, and last left
        self._frames = protocol.splitter()
        self._frames.max_bodies = protocol.GREETING
        self._ready: deque[tuple[Kind, memoryview]] = deque()
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0

    @property
    def wants_read(self) -> bool:
        if self.closing:
            return True  # to notice that the client has closed, too
        return not (self._ready or self.waiting >= ASKS or self._unsent_bytes > UNSENT_BYTES)

    @property
    def closing(self) -> bool:
        return self.close_at_s is not None

    @property
    def wants_write(self) -> bool:
        return bool(self._unsent)

    @property
    def partial(self) -> bool:
        """True if an incomplete frame has been received."""
        return self._frames.partial

    def accept_frames(self) -> None:
        """Accept frames of all kinds from now on. Call after a valid HELLO."""
        self._frames.max_bodies = protocol.FRAMES.max_bodies

    def limit_asks(self, body_bytes: int) -> None:
        """Accept ASK frames of at most this size."""
        self._frames.max_bodies = {**self._frames.max_bodies, int(Kind.ASK): body_bytes}

    def read(self, now_s: float) -> bool:
        """Read the available bytes. Returns False if the client has closed the connection. Raises ProtocolError and
        OSError."""
        try:
            if self.closing:
                return len(self.socket.recv(READ_BYTES)) > 0
            count = self.socket.recv_into(self._frames.space()[:READ_BYTES])
        except (BlockingIOError, InterruptedError):
            return True
        if count == 0:
            return False
        self.heard_s = now_s
        self._frames.filled(count)
        self._ready.extend(self._frames)
        return True

    @property
    def holds_frames(self) -> bool:
        """True if complete frames were received that `next_frame` has not returned yet."""
        return bool(self._ready)

    @property
    def has_frames(self) -> bool:
        """True if `next_frame` would return a frame now."""
        return bool(self._ready) and self.waiting < ASKS and not self.closing

    def next_frame(self) -> tuple[Kind, memoryview] | None:
        """Return the next frame, or None if there is none or enough asks wait already."""
        return self._ready.popleft() if self.has_frames else None

    def send(self, frame: bytes, now_s: float) -> None:
        """Send a frame now, or keep it until the socket accepts it. Raises OSError if the client is gone."""
        if not self._unsent:
            self.wrote_s = now_s
        self._unsent.append(memoryview(frame))
        self._unsent_bytes += len(frame)
        if len(self._unsent) == 1:
            self.flush(now_s)

    def flush(self, now_s: float) -> None:
        """Send as many of the unsent bytes as the socket accepts. Raises OSError if the client is gone."""
        while self._unsent:
            try:
                count = self.socket.send(self._unsent[0])
            except (BlockingIOError, InterruptedError):
                return
            self.wrote_s = now_s
            self._unsent_bytes -= count
            if count < len(self._unsent[0]):
                self._unsent[0] = self._unsent[0][count:]
                return
            self._unsent.popleft()
        if self.closing:
            self.socket.shutdown(socket.SHUT_WR)  # the client reads the end; what it still sends is thrown away


def tune(sock: socket.socket) -> None:
    """Send small frames at once, and notice a peer whose machine is gone. Raises OSError."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
