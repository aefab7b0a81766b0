"""Asks a running server how it is, or to go; control.js answers."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from ludus.games.showdown.servers.ports import LOOPBACK

MOST_BYTES = 1 << 16
Page = Literal["status", "drain", "leave"]


class Answer(msgspec.Struct, frozen=True):
    """A server's answer to any request. Fields that it lacks keep their defaults."""

    battles: int | None = None
    has_left: bool = msgspec.field(default=False, name="left")


class StrangerError(Exception):
    """Another program answers on the port of the server."""


async def ask(port: int, token: str, page: Page = "status") -> Answer:
    """Send a request to a server and return its answer. Raises OSError or StrangerError; has no timeout."""
    method = "GET" if page == "status" else "POST"
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        head = f"{method} /ludus/{page} HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\nX-Ludus: {token}\r\n"
        writer.write(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while (more := await reader.read(MOST_BYTES)) and len(data) < MOST_BYTES:
            data += more
    finally:
        writer.close()
    return understood(data)


def understood(data: bytes) -> Answer:
    """Parse an HTTP response. Raises ConnectionResetError if it is empty, StrangerError if it is not a server's."""
    if not data:
        raise ConnectionResetError("the server closed the connection without an answer")
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise StrangerError(head.partition(b"\r\n")[0][:80].decode("latin-1"))
    try:
        return msgspec.json.decode(body, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StrangerError(str(error)) from error
