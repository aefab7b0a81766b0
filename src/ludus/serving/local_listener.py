"""Receives local commands in a thread. `apply` carries them out in the thread that serves."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from ludus import files
from ludus.errors import ConfigError, LudusError, ServingError
from ludus.serving import local_commands
from ludus.serving.library import PolicyLibrary
from ludus.serving.local_commands import LocalCommand, LocalReply
from ludus.serving.policy_sources import PolicySource, sources_of

log = logging.getLogger(__name__)
POLL_S = 0.2
JOIN_S = 10.0


@dataclass(slots=True)
class _Pending:
    """A command that the serving thread has yet to carry out."""

    command: LocalCommand
    source: PolicySource | None  # to add
    done: threading.Event = field(default_factory=threading.Event)
    error: str = ""


class LocalListener:
    """Receives local commands for one server on a Unix socket in `folder`. With `folder=None` it receives none. If the
    socket cannot be made, a warning says why, and the server runs without local commands."""

    def __init__(self, library: PolicyLibrary, folder: Path | None, port: int) -> None:
        self._library, self._folder, self._port = library, folder, port
        self._pending: queue.SimpleQueue[_Pending] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="ludus-serve-local", daemon=True)
        self._listener: socket.socket | None = None

    def __enter__(self) -> Self:
        if self._folder is not None and hasattr(socket, "AF_UNIX"):
            try:
                self._path = local_commands.socket_path(self._folder, self._port)
                self._listener = _bind(self._folder, self._path)
                self._thread.start()
            except (ConfigError, OSError) as error:
                log.warning("policies cannot be added while this server runs: %s", error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._listener is not None:
            self._thread.join(JOIN_S)
            self._listener.close()
            self._path.unlink(missing_ok=True)

    def apply(self) -> None:
        """Carry out the commands that have come since the last call."""
        while not self._pending.empty():
            pending = self._pending.get()
            try:
                if pending.source is None:
                    self._library.remove(pending.command.name)
                    log.info("removed %s", pending.command.name)
                else:
                    self._library.add(pending.source)
                    log.info("added %s (%s)", pending.source.name, pending.source.path)
            except LudusError as error:
                pending.error = str(error)
            pending.done.set()

    def _listen(self) -> None:
        assert self._listener is not None
        while not self._stop.is_set():
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                log.warning("a local command could not be accepted: %s", error)
                self._stop.wait(POLL_S)
                continue
            with sock, contextlib.suppress(OSError):  # the command's process is gone
                local_commands.write_line(sock, self._reply(sock))

    def _reply(self, sock: socket.socket) -> LocalReply:
        try:
            command = local_commands.read_line(sock, LocalCommand, local_commands.SILENCE_S)
            pending = _Pending(command, _source_of(command) if command.command == "add" else None)
        except LudusError as error:
            return LocalReply(error=str(error))
        self._pending.put(pending)
        if not self._wait(pending):
            return LocalReply(error="the server is busy and has not carried out the command yet; look at its status")
        return LocalReply(self._library.names, pending.error)

    def _wait(self, pending: _Pending) -> bool:
        for _ in range(int(local_commands.APPLY_S / POLL_S)):
            if pending.done.wait(POLL_S):
                return True
            if self._stop.is_set():
                break
        return False


def _source_of(command: LocalCommand) -> PolicySource:
    """Return the source to add. Raises ServingError, ConfigError or CheckpointError."""
    if not Path(command.path).is_absolute():
        raise ServingError(f"{command.path!r} is no absolute path; name the folder of a run or a checkpoint")
    text = f"{command.name}={command.path}"
    follow = command.watched
    sources = sources_of(() if follow else (text,), watched=(text,) if follow else (), best=command.best)
    return sources[command.name]


def _bind(folder: Path, path: Path) -> socket.socket:
    """Listen on the socket at `path`; that of a server which was killed is replaced. Raises ConfigError and OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    local_commands.refuse_foreign(folder)
    if path.exists():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(POLL_S)
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                probe.connect(os.fspath(path))
                raise ConfigError(f"{path} belongs to another server at this port")
        path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConfigError(f"{path}: cannot listen there ({files.reason(error)})") from error
    listener.settimeout(POLL_S)
    return listener
