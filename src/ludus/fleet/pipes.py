"""Which pipes of which hosts are waited for: to read from every host that runs, to write where something is unsent."""

from __future__ import annotations

import math
import os
import select
import time

from ludus.fleet.host import Host


class Pipes:
    """A host stands in `readers` from `watch` to `forget`, and in `writers` until it has taken all it was sent.
    What `poll` returns is looked up there: reading from one host may end the watch over another."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.poll = self._poll.poll
        self.readers: dict[int, Host] = {}
        self.writers: dict[int, Host] = {}

    def watch(self, host: Host) -> None:
        """A host that has been started."""
        assert host.process is not None
        self.readers[host.process.read_fd] = host
        self._poll.register(host.process.read_fd, select.POLLIN)
        self.watch_writer(host)

    def watch_writer(self, host: Host) -> None:
        process = host.process
        if process is not None and process.unsent and process.write_fd not in self.writers:
            self.writers[process.write_fd] = host
            self._poll.register(process.write_fd, select.POLLOUT)

    def flush(self, host: Host) -> None:
        assert host.process is not None
        host.process.flush()
        if not host.process.unsent:
            self.forget_writer(host)

    def forget_writer(self, host: Host) -> None:
        if host.process is not None and host.process.write_fd in self.writers:
            del self.writers[host.process.write_fd]
            self._poll.unregister(host.process.write_fd)

    def forget(self, host: Host) -> None:
        self.forget_writer(host)
        if host.process is not None and host.process.read_fd in self.readers:
            del self.readers[host.process.read_fd]
            self._poll.unregister(host.process.read_fd)

    def drain(self, end_s: float, read_bytes: int) -> None:
        """Let hosts that are writing finish, so that they come to read STOP; what they say is not wanted any more."""
        while self.readers and (wait_s := end_s - time.monotonic()) > 0:
            for fd, _ in self.poll(math.ceil(wait_s * 1000)):
                if not os.read(fd, read_bytes):
                    self.forget(self.readers[fd])
