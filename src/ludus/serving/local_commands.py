"""Commands to a running server from its own user on its own machine: add and remove policies.

The server listens on a Unix socket in a folder that only this user may enter. Clients that come over TCP have no such
commands, so they can name no path. A command is one line of JSON, and so is the reply; then the connection ends.
"""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from ludus import files
from ludus.errors import ConfigError, ServingError
from ludus.serving.address import LOOPBACK, Address

MOST_BYTES = 1 << 16  # of a command or a reply
MOST_SOCKET_PATH = 100  # bytes; operating systems allow some 104
SILENCE_S = 5.0  # for one side to read or write a line
APPLY_S = 30.0  # for the server to load the policy

Message = TypeVar("Message", bound="LocalCommand | LocalReply")


class LocalCommand(Struct, frozen=True, forbid_unknown_fields=True):
    """Add a policy under a name, or remove the one with that name."""

    command: Literal["add", "remove"]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    path: Annotated[str, Meta(max_length=4096)] = ""  # absolute; of a run or a checkpoint, to add
    watched: bool = False
    best: bool = False


class LocalReply(Struct, frozen=True, forbid_unknown_fields=True):
    """The names that the server answers for now, or the reason why the command was refused."""

    names: list[str] = []
    error: str = ""


def default_folder() -> Path:
    """Return the folder for the sockets of this user's servers. It may not exist yet."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "ludus"
    return Path(tempfile.gettempdir()) / f"ludus-{os.getuid()}"


def socket_path(folder: Path, port: int) -> Path:
    """Return the path of the socket of the server at a TCP port. Raises ConfigError if the path is too long."""
    path = folder / f"serve-{port}.sock"
    if len(os.fsencode(path)) > MOST_SOCKET_PATH:
        raise ConfigError(
            f"{path} is too long for a socket ({MOST_SOCKET_PATH} bytes); set XDG_RUNTIME_DIR to a shorter folder"
        )
    return path


def refuse_foreign(folder: Path) -> None:
    """Raise ConfigError unless the folder belongs to this user and nobody else may enter it."""
    try:
        status = folder.lstat()
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used: {files.reason(error)}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise ConfigError(
            f"{folder} must be a folder of yours with mode 0700, because commands to your servers go through it; "
            "remove it, or set XDG_RUNTIME_DIR to a folder of yours"
        )


def send(address: Address, command: LocalCommand, folder: Path | None = None) -> list[str]:
    """Send a command to the server at an address, and return the names that it answers for then. Raises ConfigError if
    this user has no such server on this machine, and ServingError if the server refuses."""
    if address.host not in LOOPBACK:
        raise ConfigError(
            f"{address}: policies are added and removed on the server's own machine, as tcp://127.0.0.1:{address.port}"
        )
    place = default_folder() if folder is None else folder
    path = socket_path(place, address.port)
    if path.exists():
        refuse_foreign(place)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(SILENCE_S)
            sock.connect(os.fspath(path))
            write_line(sock, command)
            reply = read_line(sock, LocalReply, APPLY_S + 2 * SILENCE_S)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise ConfigError(
            f"no server of yours at port {address.port} of this machine takes commands ({path}); start one with ludus "
            "serve, as the same user"
        ) from error
    except OSError as error:
        raise ServingError(f"{address} did not take the command: {files.reason(error)}") from error
    if reply.error:
        raise ServingError(reply.error)
    return reply.names


def write_line(sock: socket.socket, message: Struct) -> None:
    """Send a message. Raises OSError."""
    sock.settimeout(SILENCE_S)
    sock.sendall(msgspec.json.encode(message) + b"\n")


def read_line(sock: socket.socket, kind: type[Message], timeout_s: float) -> Message:
    """Return the message of the other side. Raises ServingError if it is malformed or too long, and OSError if it does
    not come in time."""
    data, deadline_s = b"", time.monotonic() + timeout_s
    while not data.endswith(b"\n"):
        sock.settimeout(max(deadline_s - time.monotonic(), 1e-3))
        part = sock.recv(1 << 12)
        data += part
        if not part or len(data) > MOST_BYTES:
            raise ServingError(f"the other side {'sent too much' if part else 'closed the connection'}")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ServingError(f"the command is malformed: {error}") from error
