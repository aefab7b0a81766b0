"""Stands between players and a Showdown server and changes what they say to each other, message by message."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync import client, server
from websockets.sync.connection import Connection

Change = Callable[[str], Iterable[str]]


def unchanged(message: str) -> Iterable[str]:
    return (message,)


class Meddler:
    """Passes messages on to the server at `target` as `to_server` and `to_player` have changed them. A context manager.

    Without a target it is a server itself: it says `hello` to whoever comes, and nothing else.
    """

    def __init__(
        self, target: str = "", *, to_server: Change = unchanged, to_player: Change = unchanged, hello: str = ""
    ) -> None:
        self._target, self._hello = target, hello
        self._to_server, self._to_player = to_server, to_player
        self._server = server.serve(self._meet, "127.0.0.1", 0, compression=None, close_timeout=0.5)
        self.address = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/showdown/websocket"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Meddler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5.0)

    def _meet(self, player: server.ServerConnection) -> None:
        if self._hello:
            player.send(self._hello)
        if not self._target:
            with suppress(ConnectionClosed):
                player.recv()
            return
        with client.connect(self._target, compression=None, ping_interval=None, close_timeout=0.5) as far:
            back = threading.Thread(target=_pass, args=(far, player, self._to_player), daemon=True)
            back.start()
            _pass(player, far, self._to_server)
            back.join(5.0)


def _pass(source: Connection, sink: Connection, change: Change) -> None:
    with suppress(ConnectionClosed):
        for message in source:
            for changed in change(str(message)):
                sink.send(changed)
    sink.close()
