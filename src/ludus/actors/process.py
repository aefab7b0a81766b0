"""One actor process, from its start to its end, and the control channel to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from ludus.actors import log_relay
from ludus.actors.control import AnyMessage, ClosedError, ControlChannel, LogMessage, StopActor
from ludus.processes.command import ISOLATED

SEND_S = 5.0  # control messages are small: a process that accepts none for this long has stopped reading
EXIT_S = 2.0  # longest wait for the exit status after the channel has closed
KILL_S = 10.0  # longest wait for the exit status after SIGKILL


class DiedError(Exception):
    """Raised if the process has ended or closed its channel. The text says how, such as "was killed by signal 9"."""

    def __init__(self, text: str, *, killed: bool) -> None:
        super().__init__(text)
        self.killed = killed  # True if a signal ended the process


def command(control_fd: int, memory_fd: int) -> list[str]:
    """Return the command line of an actor process with these descriptors."""
    return [*ISOLATED, "ludus.actors.child", str(control_fd), str(memory_fd), str(os.getpid())]


class ActorProcess:
    """Starts an actor process, in a session of its own so that Ctrl-C does not reach it.

    Its output goes to the log file. On Linux it dies with the thread that starts it, and its hosts die with it.
    """

    def __init__(self, memory_fd: int, log_path: Path) -> None:
        """Raises OSError if the process cannot be started."""
        log_path.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        ours.settimeout(SEND_S)
        self._control = ControlChannel(ours)
        try:
            with theirs, log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    command(theirs.fileno(), memory_fd),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(theirs.fileno(), memory_fd),
                    start_new_session=True,
                )
        except BaseException:
            self._control.close()
            raise
        self.pid = self._process.pid

    def send(self, message: AnyMessage) -> None:
        """Send a message. If the process has ended, the message is lost, and `receive` raises DiedError."""
        with suppress(ClosedError):
            self._control.send(message)

    def receive(self, timeout_s: float) -> AnyMessage | None:
        """Return the next message, or None if none arrives in time.

        Lines of the actor's log are shown to the user, not returned. Raises DiedError if the process has ended or
        closed its channel.
        """
        try:
            message = self._control.receive(timeout_s)
            while isinstance(message, LogMessage):
                log_relay.show(message)
                message = self._control.receive(0)
        except ClosedError:
            raise self._death() from None
        return message

    def fileno(self) -> int:
        """Return the descriptor of the control channel, which is readable when `receive` has something to return."""
        return self._control.fileno()

    def end(self, grace_s: float) -> bool:
        """Ask the process to stop, kill it after `grace_s`, and close the channel.

        Returns False if it did not end even after SIGKILL, such as a process that waits for a disk in the kernel.
        """
        if grace_s:
            self.send(StopActor())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        self._control.close()
        self._process.kill()  # does nothing after a `wait` that succeeded
        try:
            self._process.wait(KILL_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _death(self) -> DiedError:
        try:
            status = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return DiedError("closed its control channel", killed=False)
        if status >= 0:
            return DiedError(f"ended with status {status}", killed=False)
        return DiedError(f"was killed by signal {-status} ({_signal_name(-status)})", killed=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return "without a name"
