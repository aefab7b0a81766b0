"""One host of a fleet, through all its processes.

A process has a `Launch` from its start on, and a `Session` from its HELLO on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, HostRefused, ProtocolError
from ludus.fleet.hostlog import HostLog
from ludus.fleet.inbox import Inbox
from ludus.fleet.process import HostProcess
from ludus.fleet.saved_state import NONE, HostState, nothing_runs
from ludus.fleet.session import Launch, Session
from ludus.fleet.setup import Setup
from ludus.fleet.shared_rows import RowMemory
from ludus.fleet.supervisor import DIVERGED, Event, Greeted, HostFailed, Owing
from ludus.fleet.voided import reason_of
from ludus.spec import GameSpec
from ludus.types import Ending
from ludus.wire.bodies import ArrivalsBody, Configure, ErrorBody
from ludus.wire.frames import FrameKind, decode_error, decode_hello, encode_configure
from ludus.wire.seeds import match_seed

_LOG = logging.getLogger("ludus.fleet")


class Host:
    """Starts and stops the processes of one host, one after the other, and keeps the state that they share.

    `spec` is the game that its processes must describe, once it is known.
    """

    def __init__(
        self,
        index: int,
        setup: Setup,
        schedule: Sequence[tuple[int, int]] | None,
        saved: HostState | None = None,
    ) -> None:
        self.index = index  # in its fleet
        self.number = setup.first_host + index  # in the run
        self.spec: GameSpec | None = None
        self.facts: Mapping[str, object] = {}  # from HELLO, for the log
        self.process: HostProcess | None = None
        self.session: Session | None = None
        self.inbox = Inbox(index, () if saved is None else saved.endings, setup.voided)
        self.log = HostLog(setup.log_dir / f"host-{self.number}.log")
        self.owing = Owing(index)
        self.last_line = ""  # last line on stderr of its last process
        self._setup = setup
        self.drains = False  # from HELLO: True if it understands DRAIN
        self.launch: Launch | None = None  # of the last process
        self._schedule = None if schedule is None else list(schedule)
        self._reasons: set[str] = set()  # reasons that it gave for lost matches
        self._first_incarnation = 0 if saved is None else saved.incarnation + 1  # after those of earlier fleets
        self._saved = None if saved is None or not saved.runs else saved  # None when its matches have been restored
        self._diverged_before = False

    @property
    def owes(self) -> bool:
        """True if the host owes its HELLO or an answer."""
        return self.process is not None and (self.session is None or self.session.owes)

    @property
    def answering(self) -> bool:
        """True if the host plays and owes an answer."""
        return self.session is not None and self.session.owes

    @property
    def unplayed(self) -> int:
        """The number of scheduled matches that have not ended."""
        if self.session is not None and self._schedule is not None:
            return self.session.unplayed_count
        return len(self._schedule or ())

    @property
    def slots(self) -> int:
        """The number of matches that it plays at once."""
        return self._setup.matches

    @property
    def schedule(self) -> list[tuple[int, int]]:
        """Scheduled matches, [number, seed], that it plays from its next start on."""
        return list(self._schedule or ())

    @schedule.setter
    def schedule(self, schedule: Sequence[tuple[int, int]]) -> None:
        self._schedule = list(schedule)

    def saved_state(self, spec: GameSpec) -> HostState:
        """Return the state of its matches.

        Call when it is not `answering` and every row that was delivered is answered; else ValueError is raised.
        """
        endings = tuple(self.inbox.endings)
        resuming = self._resuming
        if resuming is not None:
            return replace(resuming, endings=endings)
        state = None if self.session is None else self.session.saved_state(endings)
        if state is not None:
            return state
        incarnation = 0 if self.launch is None else self.launch.incarnation
        return nothing_runs(spec, self._setup.matches, incarnation, endings)

    def match_ids(self, number: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return ids, unique in the fleet, for match numbers of its current process."""
        first_id = 0 if self.launch is None else self.launch.first_id
        return np.add(number, first_id, dtype=np.int64)

    def start(self, incarnation: int) -> HostProcess:
        """Start a process and send it CONFIGURE."""
        setup, saved = self._setup, self._saved
        incarnation = self._first_incarnation + incarnation if saved is None else saved.incarnation
        seed = match_seed(match_seed(setup.seed, self.number), incarnation)
        first_id = 0 if setup.scheduled else (self.number + incarnation * setup.hosts) << 32
        shared_rows = RowMemory.offered()
        descriptor = None if shared_rows is None else shared_rows.descriptor
        command = replace(setup.command, env={**setup.command.env, "LUDUS_HOST": str(self.number)})
        process = HostProcess(command, self.log, () if descriptor is None else (descriptor,))
        self.process = process
        self.launch = Launch(self.index, process.write, shared_rows, incarnation, seed, first_id, self._schedule, saved)
        configure = Configure(
            setup.matches,
            dict(setup.options),
            seed,
            self._schedule,
            setup.keep_log,
            None if saved is None else saved.resumption(),
            setup.times_s,
            setup.parts,
            descriptor,
            setup.events,
        )
        process.write(encode_configure(configure))
        return process

    def take(self, kind: FrameKind, body: memoryview) -> list[Event]:
        """Handle one frame and return events for the supervisor.

        Raises ProtocolError if the frame breaks the protocol, and HostRefused with the host's message if the host
        refuses its configuration.
        """
        if kind is FrameKind.ERROR:
            return self._error(decode_error(body))
        if self.session is not None:
            return self.session.take(kind, body)
        if kind is FrameKind.HELLO and self.launch is not None:
            return self._hello(self.launch, body)
        raise ProtocolError(f"first frame is {kind.name}, expected HELLO", HostFault.BAD_HELLO)

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> bool:
        """Send actions. Those of matches that are over are dropped; returns False if nothing is left to send."""
        if self.session is not None:
            return self.session.send(row, action)
        self.inbox.drop_answers(row)
        return False

    def nudge(self) -> bool:
        """Send an empty ACTIONS frame, which a working host answers at once. Returns False if it owes no answer."""
        return self.session is not None and self.session.nudge()

    def deliver(self) -> tuple[list[ArrivalsBody], list[Ending]]:
        """Return the arrivals and endings since the last call."""
        if self.session is not None:
            self.session.delivered()
        return self.inbox.take()

    def stop(self, reason: str) -> None:
        """End the process and void its matches. Matches that ended before stay ended."""
        self.end_process()
        self.inbox.arrivals.clear()
        resuming, session = self._resuming, self.session
        self._saved = self.session = None
        if resuming is not None:
            self._stop_resuming(resuming, session, reason)
        elif session is not None:
            session.void(reason)
            if self._schedule is not None:
                self._schedule = session.unplayed

    def end_process(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.reap()
            self.last_line = self.process.last_line
            self.process = None
        if self.launch is not None and self.launch.shared_rows is not None:
            self.launch.shared_rows.close()

    @property
    def _resuming(self) -> HostState | None:
        """The saved state that its matches have not reached yet."""
        return self._saved if self.session is None or self.session.fast_forward is not None else None

    def _hello(self, launch: Launch, body: memoryview) -> list[Event]:
        hello = decode_hello(body)
        spec = hello.spec()
        if self.spec is not None and self.spec.fingerprint != spec.fingerprint:
            raise ProtocolError(
                f"HELLO describes another game ({spec.name}) than before the restart ({self.spec.name})",
                HostFault.BAD_HELLO,
            )
        shared_rows = launch.shared_rows
        if shared_rows is not None and not hello.memory:
            shared_rows.close()
            shared_rows = None
        spec = self.spec or spec  # one object for all processes
        self.session = Session(replace(launch, shared_rows=shared_rows), spec, self._setup, self.inbox)
        if shared_rows is not None:
            shared_rows.divide(self._setup.matches * spec.seats, spec.obs.nbytes)
        self.spec, self.facts, self.drains = spec, hello.facts, hello.drains
        return [Greeted(self.index)]

    def _error(self, error: ErrorBody) -> list[Event]:
        message = limits.clipped(error.message, limits.MESSAGE_CHARS)
        if error.kind == "configuration":
            raise HostRefused(message)
        reason = reason_of(error.message, self._reasons)
        is_known = reason in self._reasons
        self._reasons.add(reason)
        if error.kind == "internal":
            return [HostFailed(self.index, reason, f"reported {message!r}")]
        if self.session is None:
            raise ProtocolError("ERROR of kind match before HELLO", HostFault.BAD_HELLO)
        events = self.session.lose(error, reason)
        if not is_known:
            _LOG.warning("host %d lost a match, %s (log: %s)", self.number, reason, self.log.path)
        return events

    def _stop_resuming(self, saved: HostState, session: Session | None, reason: str) -> None:
        """Void the matches that diverged and keep the others for the next process.

        After a failure, or if matches diverged before, all matches are voided.
        """
        slots = set(range(len(saved.number)))
        fast_forward = None if session is None else session.fast_forward
        if reason == DIVERGED and fast_forward is not None and not self._diverged_before:
            self._diverged_before = True
            slots = fast_forward.diverged()
        for slot in sorted(slots):
            number = int(saved.number[slot])
            if number == NONE:
                continue
            if saved.is_delivered[slot] and self.launch is not None:
                ending = self.launch.ending(self._setup, saved.seats, slot, number, reason)
                self.inbox.endings.append(ending)
            else:
                self._setup.voided.count_unseen(reason)
        rest = saved.without(slots)
        self._saved = rest if rest.runs else None
