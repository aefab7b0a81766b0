"""The events that the host of `ludus play` reports, read from its log while it writes.

A line of the log is an event if it begins with `@TOKEN `. The token is random, and only this process and the host know
it: whatever a server says, and wherever a library prints it, it is no event.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

VARIABLE = "LUDUS_JOURNAL"  # of the host's environment: the token
LONGEST_LINE = 1 << 16  # bytes; longer lines are passed over
MOST_BYTES = 1 << 20  # read at once; of a log that has grown by more, only the end is read
MOST_EVENTS = 1000  # at once, the latest

Event = Mapping[str, Any]  # Any: JSON of the host


def new_token() -> str:
    return secrets.token_hex(16)


class Journal:
    """Reads a log that may be missing, cut short or replaced by another file at any time. To be closed."""

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self._mark = f"@{token} ".encode()
        self._log: IO[bytes] | None = None
        self._rest = b""  # the beginning of a line whose end is still to come
        self._skips = False  # the line at hand is passed over

    def read(self) -> list[Event]:
        """The events since the last time. Does not wait; a log that cannot be read has none."""
        try:
            data = self._tail()
        except OSError:
            return []
        events = [event for line in self._lines(data) if (event := self._event(line)) is not None]
        return events[-MOST_EVENTS:]

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _tail(self) -> bytes:
        """What was appended; also to a file that has been replaced since, and then to its successor."""
        data = b"" if self._log is None else self._appended(self._log)
        if self._log is None or _is_replaced(self._log, self._path):
            successor = self._path.open("rb")
            self.close()
            self._log = successor
            data += self._appended(successor)
        return data

    def _appended(self, log: IO[bytes]) -> bytes:
        size, at = os.fstat(log.fileno()).st_size, log.tell()
        if size < at:
            at, self._rest, self._skips = 0, b"", False
        if size - at > MOST_BYTES:
            at, self._rest, self._skips = size - MOST_BYTES, b"", True
        log.seek(at)
        return log.read(MOST_BYTES)

    def _lines(self, data: bytes) -> list[bytes]:
        """The lines that are complete now."""
        *lines, rest = (self._rest + data).split(b"\n")
        if lines and self._skips:
            self._skips = False
            lines = lines[1:]
        if len(rest) > LONGEST_LINE:
            self._skips = True
        self._rest = b"" if self._skips else rest
        return lines

    def _event(self, line: bytes) -> Event | None:
        if not line.startswith(self._mark) or len(line) > LONGEST_LINE:
            return None
        try:
            return msgspec.json.decode(line[len(self._mark) :], type=dict[str, Any])  # Any: as above
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


def _is_replaced(log: IO[bytes], path: Path) -> bool:
    """Whether another file has the name now. False while there is none: the next one is on its way."""
    try:
        return not os.path.samestat(os.fstat(log.fileno()), path.stat())
    except FileNotFoundError:
        return False
