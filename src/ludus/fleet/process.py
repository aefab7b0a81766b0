"""One host process and its three pipes. All calls are non-blocking, except `reap`, which waits after a kill."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ludus import limits
from ludus.errors import ProtocolError
from ludus.fleet.hostlog import HostLog
from ludus.processes import scheduling
from ludus.processes.command import HostCommand
from ludus.processes.launch import tied
from ludus.processes.stderr import StderrPipe
from ludus.wire.stream import FrameReader

PIPE_BYTES = 1 << 20  # the most that Linux grants without privileges; a frame that fits is read with one call
REAP_S = 5.0
LAST_READS = 4  # most reads of stderr after the host has ended; its child processes may still write to it


class HostProcess:
    """Starts a host process, in a session of its own so that Ctrl-C does not reach it.

    It dies with the thread that made it (PR_SET_PDEATHSIG): make it in a thread that lives as long as the fleet.
    """

    def __init__(self, command: HostCommand, log: HostLog, inherits: Sequence[int] = ()) -> None:
        """Start the process. It inherits the descriptors in `inherits`, under the same numbers."""
        log.open()
        self.name = Path(command.argv[0]).name
        self._log, self._stderr = log, StderrPipe()
        try:
            self._process = subprocess.Popen(
                tied(command.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr.write_fd,
                env={**os.environ, **command.env},
                cwd=command.cwd,
                bufsize=0,
                start_new_session=True,
                pass_fds=inherits,
            )
        except BaseException:
            self._stderr.close()
            raise
        self._stderr.handed_over()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._fate = ""
        self.pid = self._process.pid
        self.read_fd = self._stdout.fileno()
        self.write_fd = self._stdin.fileno()
        self._unsent = bytearray()
        self._reader = FrameReader()
        for fd in (self.read_fd, self.write_fd):
            os.set_blocking(fd, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # over the user's limit; smaller pipes work as well
                fcntl.fcntl(self.read_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        # a host that receives actions must not preempt the fleet's process, which other hosts may be waiting for
        scheduling.wake_behind_others(self.pid)
        scheduling.set_time_slice(scheduling.LONG_S, self.pid)

    @property
    def unsent(self) -> bool:
        """True if data is unsent: call `flush` when `write_fd` takes more."""
        return bool(self._unsent)

    def read(self, max_bytes: int) -> tuple[FrameReader, bool]:
        """Read the available bytes. Returns (a reader with the complete frames, True if the stream has ended).

        Stops after about `max_bytes`, so that one host cannot keep the others waiting. Raises ProtocolError for bytes
        that are not a frame.
        """
        total = 0
        while total < max_bytes:
            space = self._reader.space()
            try:
                count = os.readv(self.read_fd, (space,))
            except BlockingIOError:
                break
            if count == 0:
                return self._reader, True
            total += count
            self._reader.filled(count)
            if count < len(space):
                break  # the pipe is empty
        return self._reader, False

    @property
    def clogged(self) -> bool:
        """True if the host has left more of its stdin unread than it may (`limits.UNREAD_BYTES`)."""
        return len(self._unsent) > limits.UNREAD_BYTES

    @property
    def last_line(self) -> str:
        """The last line that was read from its stderr."""
        return self._stderr.last_line

    def log(self) -> bool:
        """Copy the host's stderr output to its log. Returns False if there was none.

        A host that fills the pipe between two calls is blocked until the next call.
        """
        data = self._stderr.read()
        self._log.write(data)
        return bool(data)

    def write(self, data: bytes) -> None:
        """Write as much as the pipe takes and keep the rest for `flush`. A closed pipe is reported by `read`."""
        if self._unsent:
            self._unsent += data
            return
        try:
            count = os.write(self.write_fd, data)
        except BlockingIOError:
            count = 0
        except BrokenPipeError:
            return
        if count < len(data):
            self._unsent += data[count:]

    def flush(self) -> None:
        """Write as much of the unsent data as the pipe takes."""
        try:
            count = os.write(self.write_fd, self._unsent)
        except BlockingIOError:
            return
        except BrokenPipeError:
            count = len(self._unsent)
        del self._unsent[:count]

    def close_stdin(self) -> None:
        self._stdin.close()

    def reap(self) -> str:
        """Kill the host and its child processes, wait for it and close the pipes. Returns how it ended, in words.

        Further calls return the same words.
        """
        if not self._fate:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)  # changes nothing for one that has already begun to exit
            self._stdin.close()
            self._stdout.close()
            try:
                self._fate = _in_words(self._process.wait(REAP_S))
            except subprocess.TimeoutExpired:
                self._fate = "could not be killed"
            for _ in range(LAST_READS):
                if not self.log():
                    break
            self._stderr.close()
        return self._fate

    def half_frame(self) -> str:
        """Return a message if the stream has ended within a frame, else an empty string."""
        try:
            self._reader.close()
        except ProtocolError as error:
            return str(error)
        return ""


def _in_words(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
