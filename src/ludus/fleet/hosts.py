"""All hosts of a fleet: reads and writes their pipes, and carries out the supervisor's instructions."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.config.settings import FleetConfig
from ludus.errors import FleetError, HostFault, HostRefused, ProtocolError
from ludus.fleet import messages, shares
from ludus.fleet.host import Host
from ludus.fleet.pipes import Pipes
from ludus.fleet.process import HostProcess
from ludus.fleet.supervisor import (
    REFUSED,
    Assigned,
    Draining,
    Event,
    Finished,
    HostFailed,
    HostPhase,
    Instruction,
    Returned,
    StartHost,
    StopHost,
    Supervisor,
    Tick,
)
from ludus.limits import clipped
from ludus.spec import GameSpec
from ludus.wire.frames import UNREADABLE, FrameKind, encode_stop

READ_BYTES = 8 << 20  # read from one host before the others are read
GRACE_S = 2.0  # time for hosts to exit by themselves after STOP
_LOG = logging.getLogger("ludus.fleet")


class Hosts:
    """All hosts of a fleet. `pump` does all the work: it starts, reads, restarts and gives up hosts."""

    def __init__(self, hosts: Sequence[Host], config: FleetConfig, *, scheduled: bool, final_refusals: bool) -> None:
        self.all = tuple(hosts)
        self.supervisor = Supervisor(config, len(hosts))
        self.moved: set[int] = set()  # numbers of scheduled matches that another host took over
        self.is_draining = False
        self._scheduled = scheduled
        self._final_refusals = final_refusals
        self._unstarted: set[int] = set()  # hosts that failed before their first HELLO
        self._pipes = Pipes()

    def meet(self) -> GameSpec:
        """Start all hosts, wait for their HELLO frames and return the game they describe.

        With a schedule, hosts that fail meanwhile are not waited for. Returns within the HELLO deadline, plus the
        pauses of hosts that refuse a configuration that others play. Raises HostRefused if the configuration is
        refused, and FleetError if a host cannot start or describes another game.
        """
        while any(host.spec is None and host.index not in self._unstarted for host in self.all):
            self.pump(math.inf)
        (first, spec), *others = [(host.number, host.spec) for host in self.all if host.spec is not None]
        for number, other in others:
            if other.fingerprint != spec.fingerprint:
                raise FleetError(f"host {number} describes another game ({other.name}) than host {first} ({spec.name})")
        for host in self.all:
            host.spec = spec  # also for a host that has yet to say HELLO
        return spec

    def pump(self, until_s: float) -> None:
        """Wait for frames or deadlines, at most until `until_s`, and handle them: read, write, start and stop hosts.

        Deadlines are checked last: a host whose answer is in its pipe is not late, even if the caller did not read for
        long.
        """
        wake_s = self.supervisor.wake_s
        pipes = self._pipes
        for fd, _ in pipes.poll(pipes.wait_ms(until_s, wake_s)):
            if fd in pipes.readers:
                self._read(*pipes.readers[fd])
            elif fd in pipes.writers:
                pipes.flush(pipes.writers[fd])
        now_s = time.monotonic()
        if now_s >= pipes.sweep_s and pipes.sweep(now_s):
            self.supervisor.on(Returned(), now_s)
        if wake_s is not None and now_s >= wake_s:
            self._carry_out(self.supervisor.on(Tick(), now_s))

    def send(self, host: Host, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """Send actions for local rows of a host."""
        if host.send(row, action):
            self.tell(host.owing)
            self._after_write(host)

    def nudge(self) -> None:
        """Send an empty ACTIONS frame to hosts that owe an answer; a working host answers it at once."""
        for host in self.all:
            if host.nudge():
                self._after_write(host)

    def drain(self) -> None:
        """Send DRAIN to the hosts that play. Hosts that are not started yet stay down."""
        if self.is_draining:
            return
        self.is_draining = True
        self.tell(Draining())
        for host in self.all:
            if host.session is None:
                continue
            if not host.drains:
                _LOG.warning("host %d does not understand DRAIN: it goes on with further matches", host.number)
            elif host.session.drain():
                self.tell(Finished(host.index))
            self._after_write(host)

    def tell(self, event: Event) -> None:
        """Report an event to the supervisor, and carry out its instructions."""
        if instructions := self.supervisor.on(event, time.monotonic()):
            self._carry_out(instructions)

    def check_any_left(self) -> None:
        """Raise FleetError if all hosts have been given up."""
        given_up = self._given_up()
        if len(given_up) == len(self.all):
            raise FleetError(
                messages.none_left(given_up, [self.supervisor.last_failure(host.index) for host in given_up])
            )

    def move_matches(self) -> None:
        """Give the unplayed matches of hosts that were given up to hosts that have finished their own."""
        given_up = [host for host in self._given_up() if host.unplayed] if self._scheduled else []
        if not given_up or self.is_draining:
            return
        phases = [self.supervisor.phase(host.index) for host in self.all]
        idle = [index for index, phase in enumerate(phases) if phase is HostPhase.FINISHED]
        unplayed = [match for host in given_up for match in host.schedule]
        playing = len(phases) - len(idle) - phases.count(HostPhase.GIVEN_UP)
        moved: set[shares.Scheduled] = set()
        for index, share in shares.handed_on(unplayed, idle, playing=playing, at_once=given_up[0].slots):
            self.tell(Assigned(index, f"takes over {len(share)} matches of hosts that were given up"))
            self.all[index].schedule = share
            moved.update(share)
        for host in given_up:
            host.schedule = [match for match in host.schedule if match not in moved]
        self.moved |= {number for number, _ in moved}

    def write_logs(self) -> None:
        """Write the stderr output of the hosts to their logs."""
        self._pipes.sweep(time.monotonic())

    def close(self) -> None:
        """Send STOP to all hosts, and kill those that have not exited after `GRACE_S`."""
        try:
            for host in self.all:
                if host.process is not None:
                    host.process.write(encode_stop())
                    self._pipes.forget_writer(host.process)
                    host.process.close_stdin()
            self._pipes.discard(time.monotonic() + GRACE_S, READ_BYTES)
        finally:
            for host in reversed(self.all):
                host.end_process()
                host.log.close()

    def _given_up(self) -> list[Host]:
        return [host for host in self.all if self.supervisor.phase(host.index) is HostPhase.GIVEN_UP]

    def _carry_out(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            host = self.all[instruction.host]
            if isinstance(instruction, StartHost):
                self._pipes.watch(host, host.start(instruction.incarnation))
            else:
                self._stop(host, instruction)

    def _stop(self, host: Host, instruction: StopHost) -> None:
        described = messages.described(host)
        if host.process is not None:
            self._pipes.forget(host.process)
        host.stop(instruction.reason)
        if host.spec is None and instruction.reason != REFUSED:
            self._fail_to_start(host, f"{described} {instruction.detail}")
        elif host.spec is None and instruction.again_in_s is None:
            self._unstarted.add(host.index)
        after = "giving it up" if instruction.again_in_s is None else f"again in {instruction.again_in_s:g} s"
        _LOG.warning("%s %s; %s (log: %s)", described, instruction.detail, after, host.log.path)

    def _fail_to_start(self, host: Host, failure: str) -> None:
        """Raise FleetError, unless other hosts may play the matches of this one."""
        self._unstarted.add(host.index)
        if not self._scheduled or len(self._unstarted) == len(self.all):
            last_line = host.last_line or "nothing"
            raise FleetError(f"{failure} before HELLO; its log ({host.log.path}) says: {last_line}")

    def _read(self, host: Host, process: HostProcess) -> None:
        try:
            frames, ended = process.read(READ_BYTES)
            for kind, body in frames:
                for event in self._events(host, kind, body):
                    self.tell(event)
                if host.process is None:
                    return
            self._after_write(host)  # a replay sends actions by itself
            session = host.session
            if session is not None and session.progress is not None:
                if session.owes:
                    self.tell(session.progress)
                session.progress = None
        except ProtocolError as error:
            detail = f"broke the protocol: {clipped(error, messages.WORDS_CHARS)}"
            self.tell(HostFailed(host.index, "protocol", detail))
            return
        except HostRefused as refusal:
            self._refuse(host, refusal)
            return
        if ended:
            self._pipes.forget(process)
            half = process.half_frame()
            detail = f"{process.reap()}{f' ({half})' if half else ''}"
            self.tell(HostFailed(host.index, "died", detail))
            host.process = None

    def _events(self, host: Host, kind: FrameKind, body: memoryview) -> list[Event]:
        """Handle a frame and return events for the supervisor.

        An unexpected error becomes a ProtocolError, so that a bad frame fails only its own host. The error is logged,
        since it may be a bug of the fleet.
        """
        try:
            return host.take(kind, body)
        except UNREADABLE as error:
            _LOG.exception("a %s frame of %s could not be read", kind.name, messages.described(host))
            raise ProtocolError(
                f"{kind.name} could not be read ({type(error).__name__}: {error})", HostFault.UNREADABLE
            ) from error

    def _refuse(self, host: Host, refusal: HostRefused) -> None:
        """Raise HostRefused if no host has played this configuration yet, or if refusals are final.

        Otherwise the host has failed like any other, since its server may be down for a moment.
        """
        has_begun = any(each.spec is not None for each in self.all)
        if not has_begun or (self._final_refusals and host.session is not None):
            message = f"{messages.described(host)} refused its configuration: {refusal}"
            raise HostRefused(message, refusal.reason) from None
        self.tell(HostFailed(host.index, REFUSED, f"refused its configuration: {refusal}"))

    def _after_write(self, host: Host) -> None:
        """Watch the host's pipe if it did not take all data, so that the rest is sent later.

        A host that has left too much unread has failed.
        """
        process = host.process
        if process is not None and process.unsent:
            self._pipes.watch_writer(process)
            if process.clogged:
                self.tell(HostFailed(host.index, "hung", f"left {limits.UNREAD_BYTES:,} bytes unread in its stdin"))
