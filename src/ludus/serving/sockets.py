"""The sockets of a server: accepts clients, reads frames, sends answers, closes silent and refused connections."""

from __future__ import annotations

import logging
import selectors
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ludus import limits
from ludus.errors import ConfigError, ProtocolError
from ludus.serving import protocol
from ludus.serving.connection import Connection, tune
from ludus.serving.protocol import Code, Kind, Refusal

log = logging.getLogger(__name__)
BACKLOG = 128
LINGER_S = 2.0  # for which a refused client may go on sending before its connection is closed


class Sockets:
    """All connections of a server. Every method that takes `now_s` expects a monotonic clock."""

    def __init__(self, host: str, port: int, *, silence_s: float, unread_s: float, refused: Counter[str]) -> None:
        """silence_s: longest pause within a frame and before a HELLO. unread_s: how long answers may stay unread.
        refused: counts refused clients by code."""
        self._where = host, port
        self._silence_s, self._unread_s = silence_s, unread_s
        self._refused = refused
        self._masks: dict[Connection, int] = {}  # what the selector watches, by open connection
        self._pending: set[Connection] = set()  # connections that may have whole frames
        self.closed: list[Connection] = []  # closed since the server took this list

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._listener = stack.enter_context(_listen(*self._where))
            self._selector = stack.enter_context(selectors.DefaultSelector())
            self._selector.register(self._listener, selectors.EVENT_READ)
            stack.callback(self._close_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def unsent(self) -> bool:
        """True if answers wait to be sent."""
        return any(connection.wants_write for connection in self._masks)

    @property
    def has_frames(self) -> bool:
        """True if `frames` would yield a frame without another `poll`."""
        return any(connection.has_frames for connection in self._pending)

    def refuse_new(self) -> None:
        """Stop listening."""
        self._selector.unregister(self._listener)
        self._listener.close()

    def poll(self, timeout_s: float, now_s: float) -> None:
        """Wait for at most `timeout_s` until a socket is ready, then read from and write to all that are."""
        for key, mask in self._selector.select(timeout_s):
            if key.fileobj is self._listener:
                self._accept(now_s)
                continue
            connection: Connection = key.data
            try:
                if mask & selectors.EVENT_WRITE:
                    connection.flush(now_s)
                if mask & selectors.EVENT_READ and not connection.read(now_s):
                    self.close(connection)
                    continue
            except ProtocolError as error:
                self.refuse(connection, Code.PROTOCOL, str(error), now_s)
            except OSError:
                self.close(connection)
                continue
            self._pending.add(connection)
            if mask & selectors.EVENT_WRITE:
                self._watch(connection)

    def frames(self) -> Iterator[tuple[Connection, Kind, memoryview]]:
        """Yield and remove the complete frames of all connections, except those that have too many unanswered asks."""
        for connection in list(self._pending):
            while connection in self._masks:
                frame = connection.next_frame()
                if frame is None:
                    break
                yield connection, *frame
            if not connection.holds_frames:
                self._pending.discard(connection)
            if connection in self._masks:
                self._watch(connection)

    def send(self, connection: Connection, frame: bytes, now_s: float) -> None:
        """Send a frame, now or later. Does nothing if the connection is closed."""
        if connection not in self._masks:
            return
        try:
            connection.send(frame, now_s)
        except OSError:
            self.close(connection)
            return
        self._watch(connection)

    def refuse(self, connection: Connection, code: Code, message: str, now_s: float) -> None:
        """Send a client the reason of its refusal, and close the connection once it has read it."""
        log.warning("refused %s (%s): %s", connection.peer, code.value, message)
        if connection not in self._masks or connection.closing:
            return
        self._refused[code.value] += 1
        connection.close_at_s = now_s + LINGER_S
        self.send(connection, protocol.encode_refused(Refusal(code.value, message)), now_s)

    def close(self, connection: Connection) -> None:
        """Close a connection now. It is appended to `closed`."""
        mask = self._masks.pop(connection, None)
        if mask is None:
            return
        if mask:
            self._selector.unregister(connection.socket)
        connection.socket.close()
        self._pending.discard(connection)
        self.closed.append(connection)

    def sweep(self, now_s: float) -> None:
        """Close connections that were refused a while ago, and refuse those that are silent or do not read."""
        for connection in list(self._masks):
            silent_s = now_s - connection.heard_s
            if connection.closing:
                assert connection.close_at_s is not None
                if now_s >= connection.close_at_s:
                    self.close(connection)
            elif connection.wants_write and now_s - connection.wrote_s > self._unread_s:
                log.warning("closed %s: it did not read its answers for %.0f s", connection.peer, self._unread_s)
                self.close(connection)
            elif connection.wants_read and silent_s > self._silence_s:
                what = "half a frame" if connection.partial else "no HELLO" if not connection.client else ""
                if what:
                    self.refuse(connection, Code.PROTOCOL, f"{what} came, and nothing for {silent_s:.0f} s", now_s)

    def _accept(self, now_s: float) -> None:
        try:
            sock, address = self._listener.accept()
        except OSError as error:  # the client is gone again, or there are no descriptors left
            log.warning("a client could not be accepted: %s", error)
            return
        peer = f"{address[0]}:{address[1]}"
        try:
            tune(sock)
        except OSError:
            sock.close()
            return
        connection = Connection(sock, peer, now_s)
        self._masks[connection] = selectors.EVENT_READ
        self._selector.register(sock, selectors.EVENT_READ, connection)
        if len(self._masks) > limits.CLIENTS:
            self.refuse(connection, Code.BUSY, f"{limits.CLIENTS:,} clients are connected; try again later", now_s)

    def _watch(self, connection: Connection) -> None:
        mask = selectors.EVENT_READ * connection.wants_read | selectors.EVENT_WRITE * connection.wants_write
        before = self._masks.get(connection)
        if before is None or before == mask:
            return
        self._masks[connection] = mask
        if not mask:
            self._selector.unregister(connection.socket)
        elif not before:
            self._selector.register(connection.socket, mask, connection)
        else:
            self._selector.modify(connection.socket, mask, connection)

    def _close_all(self) -> None:
        for connection in list(self._masks):
            self.close(connection)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=False)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"--bind {host} --port {port}: cannot listen there ({error}); another server may use the port: choose "
            "another, or stop that one"
        ) from error
