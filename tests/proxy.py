"""A TCP proxy on loopback whose connections a test can cut in the middle of whatever they carry."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

CHUNK = 1 << 14
POLL_S = 0.1


class Proxy:
    """Passes connections on to a port of this machine; a context manager."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(POLL_S)
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._allowance: int | None = None  # bytes that may still come from the target before all is cut

    def __enter__(self) -> Proxy:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5.0)

    def cut(self) -> None:
        """Close every connection there is; later ones are passed on again."""
        sockets, self._sockets = self._sockets, []
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut_after(self, size: int) -> None:
        """Cut when the target has said so many bytes more: in the middle of a message, as likely as not."""
        self._allowance = size

    def _accept(self) -> None:
        while not self._closing:
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            near.settimeout(None)
            far = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [near, far]
            self._start(self._pass, near, far)
            self._start(self._pass, far, near, True)

    def _pass(self, source: socket.socket, sink: socket.socket, counted: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if counted and self._allowance is not None:
                    data, rest = data[: self._allowance], data[self._allowance :]
                    self._allowance = None if rest else self._allowance - len(data)
                    sink.sendall(data)
                    if rest:
                        self.cut()
                else:
                    sink.sendall(data)

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()
