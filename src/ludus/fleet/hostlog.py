"""The log of one host: its stderr in a file of bounded size, `host-0.log`, with older lines in `host-0.log.1`."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FILE_BYTES = 8 << 20  # size of one file; a host has at most two
_LOG = logging.getLogger("ludus.fleet")


class HostLog:
    """Appends to the log of a host. If writing fails, such as on a full disk, lines are dropped."""

    def __init__(self, path: Path, file_bytes: int = FILE_BYTES) -> None:
        self.path = path
        self.dropped = 0  # bytes that were deleted by rotation, or could not be written
        self._older = path.with_name(f"{path.name}.1")
        self._file_bytes = file_bytes
        self._file: BinaryIO | None = None
        self._size = 0

    def open(self) -> None:
        """Open the file, and make it if it is missing. If that fails, lines are dropped until the next `open`."""
        if self._file is not None:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
            self._size = os.fstat(self._file.fileno()).st_size

    def write(self, data: bytes) -> None:
        """Append `data`, and rotate the files when the current one is full."""
        while data:
            if self._size >= self._file_bytes:
                self._rotate()
            chunk, data = data[: self._file_bytes - self._size], data[self._file_bytes - self._size :]
            try:
                written = 0 if self._file is None else self._file.write(chunk)
            except OSError:
                written = 0
            self.dropped += len(chunk) - written
            self._size += len(chunk)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def _rotate(self) -> None:
        if self.dropped == 0 and self._older.exists():
            kept_mib = 2 * self._file_bytes >> 20
            _LOG.warning(
                "a host writes so much to stderr that its log keeps only the last %d MiB (log: %s)", kept_mib, self.path
            )
        with suppress(OSError):
            self.dropped += self._older.stat().st_size
        self.close()
        self._size = 0
        with suppress(OSError):
            os.replace(self.path, self._older)
        with suppress(OSError):
            self._file = self.path.open("wb", buffering=0)
