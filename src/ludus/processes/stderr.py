"""The stderr of a host as a pipe that its parent reads: a host can write no more than its parent takes."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

PIPE_BYTES = 1 << 18  # a host that has written so much before its parent reads waits
TAIL_BYTES = 4096


class StderrPipe:
    """Give `write_fd` to the host and call `handed_over` when it has started. Nothing here waits."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # over the user's limit: a smaller pipe works too
                fcntl.fcntl(self.read_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._tail = b""

    def handed_over(self) -> None:
        """The host has its own copy of `write_fd`: close this one, so that the pipe ends with the host."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1

    def read(self) -> bytes:
        """Return what is in the pipe, at most one pipe full; empty if nothing is."""
        if self.read_fd < 0:
            return b""
        try:
            data = os.read(self.read_fd, PIPE_BYTES)
        except BlockingIOError:
            return b""
        if data:
            self._tail = (self._tail + data)[-TAIL_BYTES:]
        return data

    @property
    def last_line(self) -> str:
        """The last line with text among those that were read."""
        lines = self._tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """A host that still writes is ended by SIGPIPE."""
        self.handed_over()
        if self.read_fd >= 0:
            os.close(self.read_fd)
        self.read_fd = -1
