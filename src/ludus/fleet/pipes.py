"""Which pipes of which hosts are waited for: to read from every host that runs, to write where something is unsent."""

from __future__ import annotations

import math
import os
import select
import time

from ludus.fleet.host import Host

SWEEP_S = 0.05  # how often stderr is read: a host that floods it is held to a pipe full in this time

AWAY_S = 1.0  # a caller that reads nothing for so long may have kept hosts from writing


class Pipes:
    """A host stands in `readers` from `watch` to `forget`, and in `writers` until it has taken all it was sent.
    What `poll` returns is looked up there: reading from one host may end the watch over another."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.poll = self._poll.poll
        self.readers: dict[int, Host] = {}
        self.writers: dict[int, Host] = {}
        self.sweep_s = time.monotonic() + SWEEP_S  # when `sweep` is due

    def wait_ms(self, until_s: float, wake_s: float | None) -> int:
        """Return the milliseconds to poll for: until the earliest of the two and the next `sweep`; 0 for 0."""
        if until_s == 0.0:
            return 0
        until_s = min(until_s, self.sweep_s)
        wait_s = (until_s if wake_s is None else min(until_s, wake_s)) - time.monotonic()
        return max(0, math.ceil(wait_s * 1000))

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
        """Let hosts that are writing finish, so that they come to read STOP; their frames are not wanted any more."""
        while self.readers and (wait_s := end_s - time.monotonic()) > 0:
            for fd, _ in self.poll(math.ceil(min(wait_s, SWEEP_S) * 1000)):
                if not os.read(fd, read_bytes):
                    self.forget(self.readers[fd])
            self.sweep(time.monotonic())

    def sweep(self, now_s: float) -> bool:
        """Move what the hosts wrote to stderr into their logs. Returns whether nobody did so for so long that hosts may
        have waited for it."""
        for host in self.readers.values():
            if host.process is not None:
                host.process.log()
        was_away = now_s - self.sweep_s > AWAY_S
        self.sweep_s = now_s + SWEEP_S
        return was_away
