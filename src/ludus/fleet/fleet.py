"""N hosts x K matches x S seats as one table of rows; `recv` returns what is ready, `send` says what was chosen."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.config.settings import FleetConfig
from ludus.errors import FleetError, HostRefused, ProtocolError
from ludus.fleet import messages, shares
from ludus.fleet.arrivals import collected, nothing
from ludus.fleet.host import Host
from ludus.fleet.pipes import Pipes
from ludus.fleet.saved_state import FleetState
from ludus.fleet.setup import Setup
from ludus.fleet.supervisor import (
    REFUSED,
    Assigned,
    Event,
    HostFailed,
    Instruction,
    Phase,
    Returned,
    StartHost,
    Supervisor,
    Tick,
)
from ludus.limits import clipped
from ludus.metrics.times import Times
from ludus.processes.command import HostCommand
from ludus.processes.cores import cores
from ludus.spec import GameSpec
from ludus.types import Arrivals
from ludus.wire.frames import UNREADABLE, FrameKind, encode_stop

READ_BYTES = 8 << 20  # of one host before the others have their turn
TIMES_S = 0.5  # how often hosts say where their time went
STANDING_DEADLINES = 2  # reply deadlines in which all hosts must answer, for their matches to be saved
GRACE_S = 2.0  # for hosts to leave by themselves when the fleet closes
_LOG = logging.getLogger("ludus.fleet")


@dataclass(frozen=True, slots=True)
class FleetHealth:
    alive: int  # hosts that play, or have played all they had to
    restarts: int
    given_up: int  # hosts
    voided: Counter[str] = field(default_factory=Counter)  # matches by reason: died, hung, refused ...
    exhausted: bool = False  # every scheduled match has ended
    moved: tuple[int, ...] = ()  # scheduled matches that another host took over from one that was given up, by number


class HostFleet:
    """A context manager; it starts its hosts and returns when all have said HELLO.

    Raises HostRefused with the host's words when the configuration is refused before any host could play it, and
    FleetError when a host cannot start. With `refusals_are_final`, a host that refuses after its HELLO raises it, too.
    All calls must come from the thread that made the fleet: hosts die with it.

    A caller answers every row that `recv` returned before it calls `recv` again, or at least drops the answers for
    rows whose match is among the endings by then. A row is asked once until it is answered.

    With a `schedule`, [number, seed] of matches, these are played and no others. What a host leaves that is given up is
    taken over by those that have played all of theirs, also when it never said HELLO.

    With the `standing` of another fleet of as many hosts and matches, it goes on from there: `recv` first returns what
    that one would have returned next. A host whose matches do not come to where they stood is started again without
    those; they are voided as `diverged`.
    """

    def __init__(
        self,
        command: HostCommand,
        config: FleetConfig,
        *,
        options: Mapping[str, object],
        seed: int,
        log_dir: Path,
        hosts: int | None = None,
        matches: int | None = None,
        schedule: Sequence[tuple[int, int]] | None = None,
        keep_log: bool = False,
        standing: FleetState | None = None,
        times_s: float | None = TIMES_S,
        refusals_are_final: bool = False,
    ) -> None:
        count = hosts or config.hosts or cores()
        if schedule is not None:
            count = max(1, min(count, len(schedule)))
        self.hosts = count
        self.matches = matches or config.matches
        self._seed = seed = seed if standing is None else standing.seed
        self._scheduled = schedule is not None
        self._refusals_are_final = refusals_are_final
        parts = config.parts or _parts(count)
        sent = options if command.options is None else command.options
        setup = Setup(command, sent, seed, count, self.matches, self._scheduled, keep_log, log_dir, times_s, parts)
        dealt = [None] * count if schedule is None else shares.dealt(schedule, count)
        stood = [None] * count if standing is None else standing.hosts
        self._hosts = [Host(i, setup, share, host) for i, (share, host) in enumerate(zip(dealt, stood, strict=True))]
        self._config = config
        self._supervisor = Supervisor(config, count)
        self._stumbled: set[int] = set()  # hosts that failed before they first said HELLO
        self._moved: set[int] = set()  # numbers of scheduled matches
        self._pipes = Pipes()
        self._closed = False
        try:
            self.spec: GameSpec = self._meet()
        except BaseException:
            self.close()
            raise
        self._span = self.matches * self.spec.seats  # rows of one host
        self.rows = self.hosts * self._span
        self._nothing = nothing(self.spec)

    def recv(self, timeout_s: float, *, wait_all: bool = False) -> Arrivals:
        """What is ready, possibly nothing when the time is up or the schedule is exhausted.

        With `wait_all`: nothing until every host has answered all it was sent; then rows in the order of hosts, so that
        the same actions always give the same arrivals. Raises FleetError when no host is left.
        """
        end_s = time.monotonic() + timeout_s
        # where the supervisor waits for nobody, nothing comes: look whether a host is left before time passes
        waits = not self._ready(wait_all) and self._supervisor.wake_s is not None
        self._pump(end_s if waits else 0.0)
        while not self._ready(wait_all):
            self._check_hosts_are_left()
            self._hand_on()
            if time.monotonic() >= end_s or self._exhausted():
                return self._nothing
            self._pump(end_s)
        return collected(self._hosts, self._span, self._nothing)

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """Answers for rows that `recv` returned, in any order and any parts. Answers for lost matches are dropped."""
        if len(row) != len(action):
            raise ValueError(f"{len(row)} rows and {len(action)} actions")
        if not len(row):
            return
        row, action = row.astype(np.int32, copy=False), action.astype(np.int32, copy=False)
        if np.maximum.reduce(action.view(np.uint32)) >= self.spec.actions:  # negative ones look huge
            raise ValueError(f"actions {action.min()} to {action.max()}, expected 0 to {self.spec.actions - 1}")
        first = int(row[0]) // self._span
        local = row - first * self._span
        if 0 <= first < self.hosts and np.maximum.reduce(local.view(np.uint32)) < self._span:
            self._send(self._hosts[first], local, action)
            return
        low, high = int(row.min()), int(row.max())
        if low < 0 or high >= self.rows:
            raise ValueError(f"rows {low} to {high}, expected 0 to {self.rows - 1}")
        index = row // self._span
        for at in np.unique(index).tolist():
            chosen = index == at
            self._send(self._hosts[at], row[chosen] - at * self._span, action[chosen])

    def nudge(self) -> None:
        """Ask hosts that owe an answer for a sign of life: one whose matches wait for people may owe it for days."""
        for host in self._hosts:
            if host.nudge():
                self._sent(host)

    def standing(self, within_s: float | None = None) -> FleetState:
        """Where all matches stand, once the hosts have answered what they were sent; `recv` returns the same as without
        this call. All rows that `recv` returned must have been answered. Not for fleets with a schedule.

        A host that has not answered within this time (None: two reply deadlines) has failed: its matches are voided as
        `hung`."""
        within_s = STANDING_DEADLINES * self._config.reply_deadline_s if within_s is None else within_s
        end_s = time.monotonic() + within_s
        while late := [host for host in self._hosts if host.answering]:
            if time.monotonic() >= end_s:
                for host in late:
                    self._tell(HostFailed(host.index, "hung", f"did not complete its answers within {within_s:g} s"))
                break
            self._pump(end_s)
        return FleetState(self._seed, tuple(host.standing() for host in self._hosts))

    @property
    def health(self) -> FleetHealth:
        voided: Counter[str] = Counter()
        for host in self._hosts:
            voided.update(host.voided)
        supervisor = self._supervisor
        return FleetHealth(
            supervisor.alive,
            supervisor.restarts,
            supervisor.given_up,
            voided,
            self._exhausted(),
            tuple(sorted(self._moved)),
        )

    def take_times(self) -> Times:
        """Where the time of the hosts went since the last call, as far as they have said."""
        taken = Times()
        for host in self._hosts:
            taken.add(host.times)
            host.times = Times()
        return taken

    def write_logs(self) -> None:
        """Write to the logs what hosts have written to stderr so far. `recv` does so twenty times a second."""
        self._pipes.sweep(time.monotonic())

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes of the hosts that run."""
        return tuple(host.process.pid for host in self._hosts if host.process is not None)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What hosts that run write to; readable when `recv` would find something."""
        return tuple(host.process.read_fd for host in self._hosts if host.process is not None)

    def close(self) -> None:
        """Ask the hosts to leave, kill those that have not after a short while. Again: does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            for host in self._hosts:
                if host.process is not None:
                    host.process.write(encode_stop())
                    self._pipes.forget_writer(host)
                    host.process.close_stdin()
            self._pipes.drain(time.monotonic() + GRACE_S, READ_BYTES)
        finally:
            for host in reversed(self._hosts):
                host.leave()
                host.log.close()

    def __enter__(self) -> HostFleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _meet(self) -> GameSpec:
        """Start all hosts and wait for their HELLOs; with a schedule, only for those that did not fail meanwhile.
        Returns within the HELLO deadline plus the pauses of hosts that refuse what others play."""
        while any(host.spec is None and host.index not in self._stumbled for host in self._hosts):
            self._pump(math.inf)
        first = next(host for host in self._hosts if host.spec is not None)
        known = first.spec
        assert known is not None
        for host in self._hosts:
            if host.spec is not None and host.spec.fingerprint != known.fingerprint:
                others = f"({host.spec.name}) than host {first.index} ({known.name})"
                raise FleetError(f"host {host.index} describes another game {others}")
            host.spec = known  # which one that says HELLO later has to keep to
        if not self._scheduled:
            for line in messages.facts(self._hosts):
                _LOG.info("%s", line)
        return known

    def _pump(self, until_s: float) -> None:
        """Wait until something happens, at most until then; read, write and supervise. Silence is judged last: a host
        whose answer waits in its pipe is not silent, however long the caller was away."""
        wake_s = self._supervisor.wake_s
        pipes = self._pipes
        for fd, _ in pipes.poll(pipes.wait_ms(until_s, wake_s)):
            if fd in pipes.readers:
                self._read(pipes.readers[fd])
            elif fd in pipes.writers:
                pipes.flush(pipes.writers[fd])
        now_s = time.monotonic()
        if now_s >= pipes.sweep_s and pipes.sweep(now_s):
            self._supervisor.on(Returned(), now_s)
        if wake_s is not None and now_s >= wake_s:
            self._carry_out(self._supervisor.on(Tick(), now_s))

    def _tell(self, event: Event) -> None:
        if instructions := self._supervisor.on(event, time.monotonic()):
            self._carry_out(instructions)

    def _carry_out(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            host = self._hosts[instruction.host]
            if isinstance(instruction, StartHost):
                host.start(instruction.incarnation)
                self._pipes.watch(host)
                continue
            described = messages.described(host)
            self._pipes.forget(host)
            host.stop(instruction.reason)
            if host.spec is None and instruction.reason != REFUSED:
                self._stumble(host, f"{described} {instruction.detail}")
            elif host.spec is None and instruction.again_in_s is None:
                self._stumbled.add(host.index)
            after = "giving it up" if instruction.again_in_s is None else f"again in {instruction.again_in_s:g} s"
            _LOG.warning("%s %s; %s (log: %s)", described, instruction.detail, after, host.log_path)

    def _stumble(self, host: Host, failure: str) -> None:
        """A host cannot start. FleetError, unless others may play what it was to play."""
        self._stumbled.add(host.index)
        if not self._scheduled or len(self._stumbled) == len(self._hosts):
            said = host.last_words or "nothing"
            raise FleetError(f"{failure} before HELLO; its log ({host.log_path}) says: {said}")

    def _read(self, host: Host) -> None:
        process = host.process
        assert process is not None
        try:
            frames, ended = process.read(READ_BYTES)
            for kind, body in frames:
                for event in self._taken(host, kind, body):
                    self._tell(event)
                if host.process is None:
                    return
            self._sent(host)  # a replay answers by itself
            if host.progress is not None:
                if host.owes:
                    self._tell(host.progress)
                host.progress = None
        except ProtocolError as error:
            self._tell(
                HostFailed(host.index, "protocol", f"broke the protocol: {clipped(error, messages.WORDS_CHARS)}")
            )
            return
        except HostRefused as refusal:
            self._refused(host, refusal)
            return
        if ended:
            self._pipes.forget(host)
            half = process.half_frame()
            detail = f"{process.reap()}{f' ({half})' if half else ''}"
            self._tell(HostFailed(host.index, "died", detail))
            host.process = None

    def _taken(self, host: Host, kind: FrameKind, body: memoryview) -> list[Event]:
        """What a frame leads to. Whatever a host sends costs at most that host: an error that nobody expected is a
        ProtocolError, and logged as it may be a fault of ours."""
        try:
            return host.take(kind, body)
        except UNREADABLE as error:
            _LOG.exception("a %s frame of %s could not be read", kind.name, messages.described(host))
            raise ProtocolError(f"{kind.name} could not be read ({type(error).__name__}: {error})") from error

    def _refused(self, host: Host, refusal: HostRefused) -> None:
        """HostRefused, if no host could play this configuration yet or refusals are final; else it is a failure like
        any other: a server may be away for a moment."""
        has_begun = any(each.spec is not None for each in self._hosts)
        if not has_begun or (self._refusals_are_final and host.ledger is not None):
            raise HostRefused(f"{messages.described(host)} refused its configuration: {refusal}") from None
        self._tell(HostFailed(host.index, REFUSED, f"refused its configuration: {refusal}"))

    def _send(self, host: Host, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        if host.send(row, action):
            self._tell(host.owing)
            self._sent(host)

    def _sent(self, host: Host) -> None:
        """See to what its stdin did not take at once."""
        if host.process is not None and host.process.unsent:
            self._pipes.watch_writer(host)
            if host.process.clogged:
                self._tell(HostFailed(host.index, "hung", f"left {limits.UNREAD_BYTES:,} bytes unread in its stdin"))

    def _ready(self, wait_all: bool) -> bool:
        ready = False
        for host in self._hosts:
            if wait_all and host.owes:
                return False
            if host.came or host.endings:
                ready = True
        return ready

    def _exhausted(self) -> bool:
        return self._scheduled and not any(host.unplayed for host in self._hosts)

    def _given_up(self) -> list[Host]:
        return [host for host in self._hosts if self._supervisor.phase(host.index) is Phase.GIVEN_UP]

    def _check_hosts_are_left(self) -> None:
        lost = self._given_up()
        if len(lost) < len(self._hosts):
            return
        raise FleetError(messages.none_left(lost, [self._supervisor.last_failure(host.index) for host in lost]))

    def _hand_on(self) -> None:
        """What hosts that were given up have left of the schedule goes to those that have played all of theirs."""
        lost = [host for host in self._given_up() if host.unplayed] if self._scheduled else []
        if not lost:
            return
        phases = [self._supervisor.phase(host.index) for host in self._hosts]
        idle = [index for index, phase in enumerate(phases) if phase is Phase.FINISHED]
        left = [match for host in lost for match in host.share]
        playing = len(self._hosts) - len(idle) - phases.count(Phase.GIVEN_UP)
        moved: set[shares.Scheduled] = set()
        for index, share in shares.handed_on(left, idle, playing=playing, at_once=self.matches):
            self._tell(Assigned(index, f"takes over {len(share)} matches of hosts that were given up"))
            self._hosts[index].share = share
            moved.update(share)
        for host in lost:
            host.share = [match for match in host.share if match not in moved]
        self._moved |= {number for number, _ in moved}


def _parts(hosts: int) -> int:
    """How many parts an answer should have. With cores to spare, hosts should not wait for the caller while they have
    work. Where every core has a host, a caller that wakes early takes the core from one that is busy."""
    return 1 if hosts >= cores() else 2
