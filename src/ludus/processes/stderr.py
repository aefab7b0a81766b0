"""A pipe for the stderr of a host. A host that writes faster than its parent reads is blocked."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

PIPE_BYTES = 1 << 18  # a host blocks after this many unread bytes
TAIL_BYTES = 4096


class StderrPipe:
    """Pass `write_fd` to the host and call `handed_over` after its start. No method blocks."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # above the user's limit; a smaller pipe works too
                fcntl.fcntl(self.read_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._tail = b""

    def handed_over(self) -> None:
        """Close our copy of `write_fd`, so that the pipe ends when the host ends."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1

    def read(self) -> bytes:
        """Return the unread bytes, at most one pipe's capacity, or b"" if there are none."""
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
        """Return the last non-empty line that was read."""
        lines = self._tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """Close the pipe. SIGPIPE ends a host that still writes."""
        self.handed_over()
        if self.read_fd >= 0:
            os.close(self.read_fd)
        self.read_fd = -1
