"""Loopback ports for servers."""

from __future__ import annotations

import socket
from collections.abc import Collection

from ludus.errors import ConfigError

LOOPBACK = "127.0.0.1"
FIRST, LAST = 8000, 65535  # 8000 is what Showdown's own clients look for


def choose(count: int, base_port: int | None) -> list[int]:
    """Return `count` ports from `base_port` on, or the first free ones from 8000 if None. Raises ConfigError."""
    if count < 1:
        raise ConfigError(f"count: {count} servers cannot be started; ask for 1 or more")
    if base_port is None:
        return _first_free(count)
    if not 1024 <= base_port <= LAST + 1 - count:
        raise ConfigError(f"base port: {count} servers from {base_port} on need ports between 1024 and {LAST}")
    ports = list(range(base_port, base_port + count))
    used = [port for port in ports if not is_free(port)]
    if used:
        subject = f"port {used[0]} is" if len(used) == 1 else f"ports {', '.join(map(str, used))} are"
        raise ConfigError(f"base port: {subject} in use; name another, or none, and free ones are found")
    return ports


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger do not matter
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def another(excluded: Collection[int]) -> int:
    """Return a free port that is not in `excluded`."""
    return _first_free(1, excluded)[0]


def _first_free(count: int, excluded: Collection[int] = ()) -> list[int]:
    ports: list[int] = []
    for port in range(FIRST, LAST + 1):
        if port not in excluded and is_free(port):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise ConfigError(f"count: only {len(ports)} ports are free, {count} servers cannot be started")
