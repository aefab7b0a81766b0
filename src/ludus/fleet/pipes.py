"""The pipes of all hosts, and the poll over them: every running host is read, and written to while data is unsent."""

from __future__ import annotations

import math
import os
import select
import time

from ludus.fleet.host import Host
from ludus.fleet.process import HostProcess

SWEEP_S = 0.05  # time between two reads of stderr; a host that fills its pipe earlier is blocked
AWAY_S = 1.0  # if the pipes were not read for this long, hosts may have been unable to write


class Pipes:
    """The pipes to read and to write.

    A process is in `readers` from `watch` to `forget`, and in `writers` while data is unsent.

    Look up the descriptors that `poll` returns in these tables: handling one host may have removed another.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self.poll = self._poll.poll
        self.readers: dict[int, tuple[Host, HostProcess]] = {}
        self.writers: dict[int, HostProcess] = {}
        self.sweep_s = time.monotonic() + SWEEP_S  # when `sweep` is due

    def wait_ms(self, until_s: float, wake_s: float | None) -> int:
        """Return how many milliseconds to poll: until the earliest of `until_s`, `wake_s` and the next `sweep`.

        Returns 0 if `until_s` is 0.
        """
        if until_s == 0.0:
            return 0
        until_s = min(until_s, self.sweep_s)
        wait_s = (until_s if wake_s is None else min(until_s, wake_s)) - time.monotonic()
        return max(0, math.ceil(wait_s * 1000))

    def watch(self, host: Host, process: HostProcess) -> None:
        """Read from a process that was started."""
        self.readers[process.read_fd] = host, process
        self._poll.register(process.read_fd, select.POLLIN)
        self.watch_writer(process)

    def watch_writer(self, process: HostProcess) -> None:
        """Watch for the moment when a process takes more input, if some of its input is unsent."""
        if process.unsent and process.write_fd not in self.writers:
            self.writers[process.write_fd] = process
            self._poll.register(process.write_fd, select.POLLOUT)

    def flush(self, process: HostProcess) -> None:
        """Write as much of the unsent data as the process takes now."""
        process.flush()
        if not process.unsent:
            self.forget_writer(process)

    def forget_writer(self, process: HostProcess) -> None:
        """Write no more to a process."""
        if process.write_fd in self.writers:
            del self.writers[process.write_fd]
            self._poll.unregister(process.write_fd)

    def forget(self, process: HostProcess) -> None:
        """Neither read from nor write to a process. Does nothing if it is not watched."""
        self.forget_writer(process)
        if process.read_fd in self.readers:
            del self.readers[process.read_fd]
            self._poll.unregister(process.read_fd)

    def discard(self, end_s: float, read_bytes: int) -> None:
        """Read and discard frames until `end_s`, so that hosts which are writing can go on and read STOP."""
        while self.readers and (wait_s := end_s - time.monotonic()) > 0:
            for fd, _ in self.poll(math.ceil(min(wait_s, SWEEP_S) * 1000)):
                if not os.read(fd, read_bytes):
                    self.forget(self.readers[fd][1])
            self.sweep(time.monotonic())

    def sweep(self, now_s: float) -> bool:
        """Copy the stderr output of the hosts to their logs.

        Returns True if the last call was so long ago that hosts may have been unable to write.
        """
        for _, process in self.readers.values():
            process.log()
        was_away = now_s - self.sweep_s > AWAY_S
        self.sweep_s = now_s + SWEEP_S
        return was_away
