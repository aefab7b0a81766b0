"""One process of a host from its HELLO on: checks the frames that it sends, and sends it actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.fleet.fast_forward import FastForward
from ludus.fleet.inbox import Inbox
from ludus.fleet.saved_state import NONE, HostState
from ludus.fleet.setup import Setup
from ludus.fleet.shared_rows import RowMemory
from ludus.fleet.supervisor import Answered, Diverged, Event, Finished, Heard, HostFailed, Played, Settled
from ludus.fleet.transcript import Transcript
from ludus.metrics.times import HOSTS, Times
from ludus.spec import GameSpec
from ludus.types import Ending
from ludus.wire.bodies import ArrivalsBody, ErrorBody
from ludus.wire.frames import FrameKind, decode_event, decode_times, encode_actions, encode_drain
from ludus.wire.ledger import Ledger
from ludus.wire.seeds import match_seed

LOST_IN_A_ROW = 4  # matches per slot that a host may lose, without one that ends, before it counts as broken


@dataclass(frozen=True, slots=True)
class Launch:
    """A process of a host that has been started and sent CONFIGURE."""

    host: int
    write: Callable[[bytes], None]  # to its stdin
    shared_rows: RowMemory | None  # shared memory for its observations; None: it sends them in frames
    incarnation: int
    seed: int
    first_id: int  # added to its match numbers, which start at 0 in every process, to make ids that are unique
    schedule: list[tuple[int, int]] | None
    saved: HostState | None  # the matches that it continues

    def ending(self, setup: Setup, seats: int, slot: int, number: int, reason: str) -> Ending:
        """Return the ending of a voided match."""
        zeros = np.zeros(seats, np.float32)
        seed = dict(self.schedule or ()).get(number, match_seed(self.seed, number))
        rows = setup.rows(self.host, slot, seats)
        return Ending(self.first_id + number, rows, zeros, zeros, False, seed, void=reason)


class Session:
    """Handles the frames of a process: fills the inbox and returns events for the supervisor.

    Rows are local to the host; endings carry rows of the fleet.
    """

    def __init__(self, launch: Launch, spec: GameSpec, setup: Setup, inbox: Inbox) -> None:
        saved = launch.saved
        self._launch, self._spec, self._setup, self._inbox = launch, spec, setup, inbox
        self._index = launch.host
        self._shared_rows = launch.shared_rows
        self._no_rows = ArrivalsBody.empty(spec.actions, spec.obs.nbytes)
        resume = None if saved is None else saved.resumption()
        self._ledger = Ledger(spec, setup.matches, launch.schedule, resume)
        self._transcript = None if launch.schedule is not None else Transcript(setup.matches * spec.seats)
        self.fast_forward = None if saved is None else FastForward(saved)  # until the saved state is reached
        self.progress: Event | None = None  # progress since the owner last cleared it
        # created once, since most frames return one of them
        self._progress_event, self._answer_event = Heard(self._index), Answered(self._index)
        self._settled: list[Event] = [Settled(self._index)]
        self._is_draining = False
        self._lost_in_a_row = 0
        self._times_frames = 0  # in the current answer
        self._has_played = False  # True if a match has ended

    @property
    def owes(self) -> bool:
        """True if the host owes an answer."""
        return self._ledger.answers_due > 0

    @property
    def unplayed(self) -> list[tuple[int, int]]:
        """Scheduled matches that have not ended: [number, seed]."""
        return self._ledger.unplayed

    @property
    def unplayed_count(self) -> int:
        """The number of scheduled matches that have not ended."""
        return self._ledger.unplayed_count

    def take(self, kind: FrameKind, body: memoryview) -> list[Event]:
        """Handle one frame other than ERROR and return events for the supervisor. Raises ProtocolError."""
        if kind is FrameKind.ARRIVALS:
            return self._arrivals(body)
        if kind is FrameKind.ENDING:
            return self._ending(body)
        if kind is FrameKind.TIMES:
            return self._times(body)
        if kind is FrameKind.EVENT:
            return self._event(body)
        if kind is FrameKind.HELLO:
            raise ProtocolError("HELLO came twice", HostFault.BAD_HELLO)
        raise ProtocolError(f"received {kind.name}, which only the fleet sends")

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> bool:
        """Send actions. Those of matches that are over are dropped; returns False if nothing is left to send."""
        index = row.astype(np.intp)
        awaited = self._ledger.awaits(index)
        if 0 in awaited.tobytes():
            self._inbox.drop_answers(row[~awaited])
            index, row, action = index[awaited], row[awaited], action[awaited]
        if not len(row):
            return False
        self._write(index, row, action)
        return True

    def nudge(self) -> bool:
        """Send an empty ACTIONS frame, which a working host answers at once. Returns False if it owes no answer."""
        if not self.owes:
            return False
        nobody = np.empty(0, np.int32)
        self._write(nobody.astype(np.intp), nobody, nobody)
        return True

    def drain(self) -> bool:
        """Ask the host to begin no more matches. Returns True if it runs none now."""
        self._launch.write(encode_drain())
        self._is_draining = True
        return not self._ledger.answers_due and not self._ledger.running()

    def delivered(self) -> None:
        """Record that the fleet's caller has received all arrivals, and so knows every match that has begun."""
        self._ledger.opened.clear()

    def saved_state(self, endings: tuple[Ending, ...]) -> HostState | None:
        """Return the state of its matches; None with a schedule, which is played again from its start.

        Raises ValueError if rows that were delivered have not been answered.
        """
        if self._transcript is None:
            return None
        waiting = ArrivalsBody.concatenate([self._no_rows, *self._inbox.arrivals])
        if self._ledger.waiting != len(waiting.row):
            raise ValueError(f"host {self._index} waits for rows that were delivered and not answered")
        number = np.full(self._setup.matches, NONE, np.int64)
        for slot, running in self._ledger.running():
            number[slot] = running
        columns = self._transcript.columns()
        return HostState(self._launch.incarnation, self._ledger.following, number, *columns, waiting, endings)

    def void(self, reason: str) -> None:
        """Void all running matches: the process has ended."""
        self._inbox.lapse(self._ledger.waited_for().tolist())
        for slot, number in self._ledger.running():
            self._void(slot, number, reason)

    def lose(self, error: ErrorBody, reason: str) -> list[Event]:
        """Void the match that the host has reported as lost, with an ERROR frame of kind match.

        Returns HostFailed if the host has lost too many matches in a row.
        """
        slot, number, lapsed = self._ledger.lose(error)
        self._note_progress()
        self._end_match(slot, lapsed)
        if self.fast_forward is not None:
            self.fast_forward.lose(slot)
        elif number is None:
            self._setup.voided.count_unseen(reason)
        else:
            self._void(slot, number, reason)
        self._lost_in_a_row += 1
        if self._lost_in_a_row > LOST_IN_A_ROW * self._setup.matches:
            detail = f"lost {self._lost_in_a_row} matches in a row, the last: {reason}"
            return [HostFailed(self._index, reason, detail)]
        return []

    def _write(self, index: NDArray[np.intp], row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        self._ledger.actions(index)
        if self._transcript is not None:
            self._transcript.note(index, action)
        room = 0 if self._shared_rows is None else self._shared_rows.lend()
        self._launch.write(encode_actions(row, action, room))

    def _arrivals(self, body: memoryview) -> list[Event]:
        ledger, shared_rows = self._ledger, self._shared_rows
        arrivals = ledger.arrivals(body, None if shared_rows is None else shared_rows.next_rows)
        if arrivals.done:
            self.progress = self._answer_event
            self._times_frames = 0
            if shared_rows is not None:
                shared_rows.settle()
        else:
            self._note_progress()
        if self.fast_forward is not None:
            return self._replay(self.fast_forward, arrivals)
        if len(arrivals.row):
            self._inbox.arrivals.append(arrivals)
        if ledger.answers_due:
            return []
        if (self._launch.schedule is not None and not ledger.unplayed_count) or (
            self._is_draining and not ledger.running()
        ):
            return [*self._settled, Finished(self._index)]
        return self._settled

    def _replay(self, fast_forward: FastForward, arrivals: ArrivalsBody) -> list[Event]:
        """Send the recorded actions, one answer at a time, until the matches have reached their saved state."""
        fast_forward.take(arrivals)
        if self._ledger.answers_due:
            return []
        row, action = fast_forward.answers()
        if len(row):
            self._write(row.astype(np.intp), row, action)
            return []
        saved, diverged = fast_forward.saved, sorted(fast_forward.diverged())
        if diverged:
            first = f"match {saved.number[diverged[0]]} diverged"
            others = f", and {len(diverged) - 1} others" if len(diverged) > 1 else ""
            return [Diverged(self._index, f"replayed {saved.runs} matches; {first}{others}")]
        self._inbox.arrivals = [fast_forward.arrivals()]
        self._ledger.opened = {number for slot, number in self._ledger.running() if not saved.is_delivered[slot]}
        self.fast_forward = None
        return [Settled(self._index)]

    def _ending(self, body: memoryview) -> list[Event]:
        head, final_obs, lapsed = self._ledger.ending(body)
        self._note_progress()
        self._end_match(head.slot, lapsed)
        if self.fast_forward is not None:
            self.fast_forward.lose(head.slot)
            return []
        seats = self._spec.seats
        facts = self._setup.facts.admit(self._index, head.facts, seats)
        self._lost_in_a_row = 0
        self._inbox.endings.append(
            Ending(
                self._launch.first_id + head.number,
                self._setup.rows(self._index, head.slot, seats),
                np.array(head.score, np.float32),
                np.array(head.reward, np.float32),
                head.truncated,
                head.seed,
                facts,
                final_obs,
                head.log,
                out=tuple(head.out),
            )
        )
        if self._has_played:
            return []
        self._has_played = True
        return [Played(self._index)]

    def _note_progress(self) -> None:
        """Report progress to the supervisor: rows or an ending, which a stuck host cannot repeat forever."""
        if self.progress is None:
            self.progress = self._progress_event

    def _times(self, body: memoryview) -> list[Event]:
        if self._setup.times_s is None or not self._ledger.answers_due:
            raise ProtocolError(
                "received TIMES, which was not requested, or after all ACTIONS were answered", HostFault.BAD_TIMES
            )
        self._times_frames += 1
        if self._times_frames > limits.TIMES_FRAMES:
            raise ProtocolError(f"more than {limits.TIMES_FRAMES} TIMES frames came in one answer")
        times = decode_times(body)
        activities = {f"{HOSTS}/{name}": durations for name, durations in times.activities.items()}
        self._inbox.times.add(Times({HOSTS: times.wall_ns}, activities))
        return []

    def _event(self, body: memoryview) -> list[Event]:
        if not self._setup.events:
            raise ProtocolError("received EVENT, but events were not requested")
        self._inbox.add_event(decode_event(body))
        return []

    def _end_match(self, slot: int, lapsed: list[int]) -> None:
        """Forget the match in this slot, which is over; its `lapsed` rows need no answer."""
        if self._transcript is not None:
            seats = self._spec.seats
            self._transcript.forget(slice(slot * seats, (slot + 1) * seats))
        self._inbox.lapse(lapsed)

    def _void(self, slot: int, number: int, reason: str) -> None:
        if number in self._ledger.opened:  # none of its rows was delivered
            self._setup.voided.count_unseen(reason)
            return
        self._inbox.endings.append(self._launch.ending(self._setup, self._spec.seats, slot, number, reason))
