"""One host of a fleet: its process, its ledger, and what it sent that nobody has taken yet."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostRefused, ProtocolError
from ludus.fleet.fast_forward import FastForward
from ludus.fleet.hostlog import HostLog
from ludus.fleet.process import HostProcess
from ludus.fleet.reasons import reason_of
from ludus.fleet.saved_state import NONE, HostState, nothing_runs
from ludus.fleet.setup import Setup
from ludus.fleet.shared_rows import RowMemory
from ludus.fleet.supervisor import (
    DIVERGED,
    Answered,
    Event,
    Finished,
    Greeted,
    Heard,
    HostFailed,
    Owing,
    Played,
    Settled,
    Diverged,
)
from ludus.fleet.transcript import Transcript
from ludus.metrics.times import HOSTS, Times
from ludus.spec import GameSpec
from ludus.types import Ending
from ludus.wire.frames import (
    ArrivalsBody,
    Configure,
    ErrorBody,
    FrameKind,
    decode_error,
    decode_hello,
    decode_times,
    encode_actions,
    encode_configure,
)
from ludus.wire.ledger import Ledger
from ludus.wire.seeds import match_seed

LOST_IN_A_ROW = 4  # matches per slot that a host may give up before it counts as broken
_LOG = logging.getLogger("ludus.fleet")


class Host:
    """Frames in, events for the supervisor out. Rows inside are local; endings carry rows of the fleet's table."""

    def __init__(
        self,
        index: int,
        setup: Setup,
        share: Sequence[tuple[int, int]] | None,
        standing: HostState | None = None,
    ) -> None:
        self.index = index
        self.spec: GameSpec | None = None
        self.facts: Mapping[str, object] = {}  # that it said of itself, for the log
        self.process: HostProcess | None = None
        self.ledger: Ledger | None = None
        self._memory: RowMemory | None = None  # where it leaves rows; None: it sends them
        self.came: list[ArrivalsBody] = []
        self.endings: list[Ending] = [] if standing is None else list(standing.endings)
        self.voided: Counter[str] = Counter()
        self.times = Times()  # where its time went; the owner takes it
        self.log = HostLog(setup.log_dir / f"host-{index}.log")
        self.log_path = self.log.path
        self.owing, self._heard, self._answered = Owing(index), Heard(index), Answered(index)  # made once, told often
        self.progress: Event | None = None  # what the frames since the last look amount to; the owner takes it
        self._settled: list[Event] = [Settled(index)]
        self.last_words = ""  # the last line on stderr of its last process
        self._setup = setup
        self._share = None if share is None else list(share)
        self._seed = 0
        self._incarnation = 0
        self._lineage = 0  # added to match numbers, which start again at 0 with each incarnation: ids must not
        self._lost_in_a_row = 0
        self._times_frames = 0  # in the answer under way
        self._played = False  # a match to its end, since its last start
        self._lapsed: set[int] = set()  # rows that were asked and are not waited for any more
        self._transcript: Transcript | None = None  # None with a schedule, which is played again from its start
        self._earlier = 0 if standing is None else standing.incarnation + 1  # incarnations in earlier parts of a run
        self._standing = None if standing is None or not standing.runs else standing  # until its replay is over
        self._replay: FastForward | None = None
        self._diverged_before = False

    @property
    def owes(self) -> bool:
        """Something is on its way: HELLO or answers."""
        return self.process is not None and (self.ledger is None or self.ledger.owed > 0)

    @property
    def unplayed(self) -> int:
        """Scheduled matches that have not ended."""
        if self.ledger is not None and self._share is not None:
            return len(self.ledger.unplayed)
        return len(self._share or ())

    @property
    def share(self) -> list[tuple[int, int]]:
        """What it plays of the schedule from its next start on: [number, seed]."""
        return list(self._share or ())

    @share.setter
    def share(self, share: Sequence[tuple[int, int]]) -> None:
        self._share = list(share)

    @property
    def answering(self) -> bool:
        """It plays and owes an answer."""
        return self.ledger is not None and self.ledger.owed > 0

    def standing(self) -> HostState:
        """Where its matches stand. Call when it is not `answering` and all rows that were handed over are answered."""
        assert self.spec is not None
        slots, endings = self._setup.matches, tuple(self.endings)
        if self._standing is not None:
            return replace(self._standing, endings=endings)
        if self.ledger is None or self._transcript is None:
            return nothing_runs(self.spec, slots, self._incarnation, endings)
        came = ArrivalsBody.concatenate([ArrivalsBody.empty(self.spec.actions, self.spec.obs.nbytes), *self.came])
        if self.ledger.waiting != len(came.row):
            raise ValueError(f"host {self.index} waits for rows that were handed over and not answered")
        number = np.full(slots, NONE, np.int64)
        for slot, running in self.ledger.running():
            number[slot] = running
        return HostState(self._incarnation, self.ledger.following, number, *self._transcript.columns(), came, endings)

    def match_ids(self, number: NDArray[np.uint32]) -> NDArray[np.int64]:
        return np.add(number, self._lineage, dtype=np.int64)

    def start(self, incarnation: int) -> None:
        standing = self._standing
        self._incarnation = incarnation = self._earlier + incarnation if standing is None else standing.incarnation
        self._seed = match_seed(match_seed(self._setup.seed, self.index), incarnation)
        self._lineage = 0 if self._setup.scheduled else (self.index + incarnation * self._setup.hosts) << 32
        self._lost_in_a_row = self._times_frames = 0
        self.progress = None
        self._played = False
        command = self._setup.command
        named = replace(command, env={**command.env, "LUDUS_HOST": str(self.index)})
        self._memory = RowMemory.offered()
        shared = None if self._memory is None else self._memory.descriptor
        self.process = HostProcess(named, self.log, () if shared is None else (shared,))
        configure = Configure(
            self._setup.matches,
            dict(self._setup.options),
            self._seed,
            self._share,
            self._setup.keep_log,
            None if standing is None else standing.resumption(),
            self._setup.times_s,
            self._setup.parts,
            shared,
        )
        self.process.write(encode_configure(configure))

    def take(self, kind: FrameKind, body: memoryview) -> list[Event]:
        """One frame. Raises ProtocolError, or HostRefused with the host's words."""
        ledger = self.ledger
        if ledger is not None and kind is FrameKind.ARRIVALS:
            return self._arrivals(ledger, body)
        if ledger is not None and kind is FrameKind.ENDING:
            return self._ending(ledger, body)
        if kind is FrameKind.ERROR:
            return self._error(decode_error(body))
        if kind is FrameKind.HELLO:
            return self._hello(body)
        if ledger is None:
            raise ProtocolError(f"first frame is {kind.name}, expected HELLO")
        if kind is FrameKind.TIMES:
            return self._timed(ledger, body)
        raise ProtocolError(f"received {kind.name}, which only the fleet sends")

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> bool:
        """Rows whose match was lost or ended meanwhile are left out; says whether anything was sent."""
        index = row.astype(np.intp)
        wanted = np.zeros(len(row), np.bool_) if self.ledger is None else self.ledger.awaits(index)
        if 0 in wanted.tobytes():
            late = set(row[~wanted].tolist())
            if not late <= self._lapsed:
                raise ValueError(f"row {min(late - self._lapsed)} of host {self.index} was not asked")
            self._lapsed -= late
            index, row, action = index[wanted], row[wanted], action[wanted]
        if not len(row) or self.process is None or self.ledger is None:
            return False
        self._tell(self.ledger, index, row, action)
        return True

    def nudge(self) -> bool:
        """Ask for a sign of life, if it owes an answer; says whether it was asked."""
        if self.ledger is None or self.process is None or not self.answering:
            return False
        nobody = np.empty(0, np.int32)
        self._tell(self.ledger, nobody.astype(np.intp), nobody, nobody)
        return True

    def hand_over(self) -> tuple[list[ArrivalsBody], list[Ending]]:
        """What came since the last time; it is the caller's now."""
        came, endings = self.came, self.endings
        self.came, self.endings = [], []
        if self.ledger is not None:
            self.ledger.opened.clear()
        if self._lapsed:
            self._lapsed.difference_update(row for body in came for row in body.row.tolist())
        return came, endings

    def stop(self, reason: str) -> None:
        """End the process and void what it played. Matches that ended before stay ended."""
        self.leave()
        self.came.clear()
        if self._standing is not None:
            self._give_up_replay(self._standing, reason)
            return
        if self.ledger is None:
            return
        self._lapsed.update(self.ledger.waited_for().tolist())
        for slot, number in self.ledger.running():
            self._void(slot, number, reason)
        if self._share is not None:
            self._share = self.ledger.unplayed
        self.ledger = None

    def leave(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.reap()
            self.last_words = self.process.last_line
            self.process = None
        self._share_nothing()

    def _tell(self, ledger: Ledger, index: NDArray[np.intp], row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        assert self.process is not None
        ledger.actions(index)
        if self._transcript is not None:
            self._transcript.note(index, action)
        room = 0 if self._memory is None else self._memory.lend()
        self.process.write(encode_actions(row, action, room))

    def _share_nothing(self) -> None:
        if self._memory is not None:
            self._memory.close()
        self._memory = None

    def _hello(self, body: memoryview) -> list[Event]:
        if self.ledger is not None:
            raise ProtocolError("HELLO came twice")
        hello = decode_hello(body)
        spec = hello.spec()
        if self.spec is not None and self.spec.fingerprint != spec.fingerprint:
            raise ProtocolError(
                f"HELLO describes another game ({spec.name}) than before the restart ({self.spec.name})"
            )
        standing = self._standing
        resume = None if standing is None else standing.resumption()
        self.ledger = Ledger(self.spec or spec, self._setup.matches, self._share, resume)
        self.spec, self.facts = self.spec or spec, hello.facts
        if self._memory is not None and hello.memory:
            self._memory.divide(self._setup.matches * spec.seats, spec.obs.nbytes)
        else:
            self._share_nothing()
        self._replay = None if standing is None else FastForward(standing)
        self._transcript = Transcript(self._setup.matches * spec.seats) if self._share is None else None
        return [Greeted(self.index)]

    def _arrivals(self, ledger: Ledger, body: memoryview) -> list[Event]:
        memory = self._memory
        came = ledger.arrivals(body, None if memory is None else memory.next_rows)
        if came.done:
            self.progress = self._answered
            self._times_frames = 0
            if memory is not None:
                memory.settle()
        else:
            self._come_further()
        if self._standing is not None and self._replay is not None:
            return self._replayed(ledger, self._standing, self._replay, came)
        if len(came.row):
            self.came.append(came)
        if ledger.owed:
            return []
        if self._share is not None and not ledger.unplayed:
            return [*self._settled, Finished(self.index)]
        return self._settled

    def _replayed(self, ledger: Ledger, standing: HostState, replay: FastForward, came: ArrivalsBody) -> list[Event]:
        """Feed the choices that the matches had, answer by answer, until they stand where they stood."""
        replay.take(came)
        if ledger.owed:
            return []
        row, action = replay.answers()
        if len(row):
            self._tell(ledger, row.astype(np.intp), row, action)
            return []
        diverged = sorted(replay.diverged())
        if diverged:
            first = f"match {standing.number[diverged[0]]} did not come to where it stood"
            others = f", nor did {len(diverged) - 1} others" if len(diverged) > 1 else ""
            return [Diverged(self.index, f"was given the choices of {standing.runs} matches; {first}{others}")]
        self.came = [replay.arrivals()]
        ledger.opened = {number for slot, number in ledger.running() if not standing.known[slot]}
        self._standing = self._replay = None
        return [Settled(self.index)]

    def _give_up_replay(self, standing: HostState, reason: str) -> None:
        """The first time, go on without the matches that diverged; else without all of them."""
        slots = set(range(len(standing.number)))
        if reason == DIVERGED and self._replay is not None and not self._diverged_before:
            self._diverged_before = True
            slots = self._replay.diverged()
        for slot in sorted(slots):
            number = int(standing.number[slot])
            if number != NONE:
                self.voided[reason] += 1
            if number != NONE and standing.known[slot]:
                self.endings.append(self._lost(slot, number, reason))
        left = standing.without(slots)
        self._standing = left if left.runs else None
        self._replay = self.ledger = None

    def _ending(self, ledger: Ledger, body: memoryview) -> list[Event]:
        assert self.spec is not None
        head, final_obs, lapsed = ledger.ending(body)
        self._come_further()
        self._over(head.slot, lapsed)
        if self._replay is not None:
            self._replay.lose(head.slot)
            return []
        facts = self._setup.facts.admit(self.index, head.facts, self.spec.seats)
        self._lost_in_a_row = 0
        self.endings.append(
            Ending(
                self._lineage + head.number,
                self._rows(head.slot),
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
        if self._played:
            return []
        self._played = True
        return [Played(self.index)]

    def _come_further(self) -> None:
        """A part of an answer came that cannot come again and again: rows, or the end of a match."""
        if self.progress is None:
            self.progress = self._heard

    def _timed(self, ledger: Ledger, body: memoryview) -> list[Event]:
        if self._setup.times_s is None or not ledger.owed:
            raise ProtocolError("TIMES came although nobody asked for it, or all ACTIONS were answered")
        self._times_frames += 1
        if self._times_frames > limits.TIMES_FRAMES:
            raise ProtocolError(f"more than {limits.TIMES_FRAMES} TIMES frames came in one answer")
        times = decode_times(body)
        activities = {f"{HOSTS}/{name}": durations for name, durations in times.activities.items()}
        self.times.add(Times({HOSTS: times.wall_ns}, activities))
        return []

    def _error(self, error: ErrorBody) -> list[Event]:
        message = limits.clipped(error.message, limits.MESSAGE_CHARS)
        if error.kind == "configuration":
            raise HostRefused(message)
        reason = reason_of(error.message, self.voided)
        if error.kind == "internal":
            return [HostFailed(self.index, reason, f"reported {message!r}")]
        if self.ledger is None:
            raise ProtocolError("ERROR of kind match before HELLO")
        if reason not in self.voided:
            _LOG.warning("host %d lost a match, %s (log: %s)", self.index, reason, self.log_path)
        number, lapsed = self.ledger.lost(error)
        self._come_further()
        assert error.slot is not None
        self._over(error.slot, lapsed)
        if self._replay is not None:
            self._replay.lose(error.slot)
        elif number is None:
            self.voided[reason] += 1
        else:
            self._void(error.slot, number, reason)
        self._lost_in_a_row += 1
        if self._lost_in_a_row > LOST_IN_A_ROW * self._setup.matches:
            return [HostFailed(self.index, reason, f"lost {self._lost_in_a_row} matches in a row, the last: {reason}")]
        return []

    def _over(self, slot: int, rows: list[int]) -> None:
        """A match is over, and these rows need no answer any more: forget those not delivered, let `send` drop answers
        for the others."""
        assert self.spec is not None
        if self._transcript is not None:
            self._transcript.forget(slice(slot * self.spec.seats, (slot + 1) * self.spec.seats))
        if not rows:
            return
        self._lapsed.update(rows)
        kept = [came.take(~np.isin(came.row, rows)) for came in self.came]
        self.came = [came for came in kept if len(came.row)]

    def _void(self, slot: int, number: int, reason: str) -> None:
        assert self.spec is not None
        self.voided[reason] += 1
        if self.ledger is None or number in self.ledger.opened:
            return  # the caller has not heard of this match
        self.endings.append(self._lost(slot, number, reason))

    def _lost(self, slot: int, number: int, reason: str) -> Ending:
        assert self.spec is not None
        nothing = np.zeros(self.spec.seats, np.float32)
        seed = dict(self._share or ()).get(number, match_seed(self._seed, number))
        return Ending(self._lineage + number, self._rows(slot), nothing, nothing, False, seed, void=reason)

    def _rows(self, slot: int) -> NDArray[np.int32]:
        assert self.spec is not None
        first = (self.index * self._setup.matches + slot) * self.spec.seats
        return np.arange(first, first + self.spec.seats, dtype=np.int32)
