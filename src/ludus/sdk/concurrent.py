"""Matches that wait for something outside, all at the same time: each row goes out when it is ready, never in lockstep.

A host may only speak while it owes an answer, so one answer stays open for as long as any match is at work: rows that
get ready meanwhile go out as parts of it, and every other ACTIONS frame is answered at once (docs/host-protocol.md).
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from itertools import count

from ludus.errors import ProtocolError
from ludus.sdk.match import HostedGame
from ludus.sdk.slots import Slot, SlotTable
from ludus.sdk.threads import Job, Outcome, Runner
from ludus.wire.channel import Channel
from ludus.wire.frames import FrameKind, decode_actions

GATHERED_SHARE = 4  # rows are sent at once when one in so many of all rows is ready

Frame = tuple[FrameKind, memoryview]


class WaitingMatches:
    """The loop of a host: frames from the channel and turns from the runner come through one queue."""

    def __init__(self, game: HostedGame, runner: Runner) -> None:
        self._game = game
        self._runner = runner
        self._events: queue.SimpleQueue[Frame | Outcome | Exception | None] = queue.SimpleQueue()
        self._tickets = count()
        self._working: dict[int, tuple[int, float]] = {}  # slot -> ticket, when its time is up; the oldest first
        self._jobs: list[Job] = []  # that the runner has not got yet
        self._given_up = 0
        self._answers_owed = 1  # answers: the opening is one
        self._gathering_since: float | None = None

    def run(self, table: SlotTable, channel: Channel) -> None:
        """Until STOP or the end of the channel. Raises ProtocolError."""
        self._table = table
        self._enough = max(1, len(table.slots) * self._game.spec.seats // GATHERED_SHARE)
        self._runner.begin(self._events.put)
        for slot in table.slots:
            self._begin(slot)
        self._settle(time.monotonic())
        threading.Thread(target=self._read, args=(channel,), name="frames", daemon=True).start()
        while self._take_events():
            self._let_play()
            now_s = time.monotonic()
            self._give_up_late_ones(now_s)
            self._settle(now_s)

    def close(self, grace_s: float) -> None:
        self._runner.close(grace_s)

    def _read(self, channel: Channel) -> None:
        """In a thread of its own, so that frames and turns can be waited for together."""
        try:
            while (frame := channel.receive()) is not None and frame[0] != FrameKind.STOP:
                self._events.put(frame)
        except Exception as error:
            self._events.put(error)
        else:
            self._events.put(None)

    def _take_events(self) -> bool:
        """Wait until something happens or is due, then take all that has; False: it is time to stop."""
        try:
            event = self._events.get(timeout=self._patience_s())
            while True:
                if event is None:
                    return False
                if isinstance(event, Exception):
                    raise event
                if isinstance(event, Outcome):
                    self._table.clock.lap("simulate")
                    self._became(event)
                else:
                    self._table.clock.lap("wait")
                    self._act(*event)
                event = self._events.get_nowait()
        except queue.Empty:
            return True

    def _patience_s(self) -> float | None:
        """Until the next row has waited long enough for others, or the next match is late."""
        due = [expires_s for _, expires_s in list(self._working.values())[:1]]
        if self._gathering_since is not None:
            due.append(self._gathering_since + self._game.gather_s)
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _act(self, kind: FrameKind, body: memoryview) -> None:
        if kind is FrameKind.DRAIN:
            self._table.drain()
            return
        if kind is not FrameKind.ACTIONS:
            raise ProtocolError(f"received {kind.name}, expected ACTIONS, DRAIN or STOP")
        self._answers_owed += 1
        rows, actions = decode_actions(body)
        for row, choice in zip(rows.tolist(), actions.tolist(), strict=True):
            turn_actions = self._table.choose(row, choice)
            if turn_actions is not None:
                self._play(*turn_actions)

    def _begin(self, slot: Slot) -> None:
        if self._table.next_match(slot):
            self._play(slot, None)

    def _play(self, slot: Slot, actions: Mapping[int, int] | None) -> None:
        ticket = next(self._tickets)
        self._working[slot.index] = ticket, time.monotonic() + self._game.deadline_s
        self._jobs.append(Job(slot.index, ticket, slot.seed, actions))

    def _let_play(self) -> None:
        """All at once: a runner that was woken for the first would take turns with this thread for the others."""
        if self._jobs:
            jobs, self._jobs = self._jobs, []
            self._runner.play(jobs)

    def _became(self, outcome: Outcome) -> None:
        """A match has come to its next turn, or failed. One that was given up meanwhile does not count any more."""
        ticket, _ = self._working.get(outcome.slot, (None, 0.0))
        if ticket != outcome.ticket:
            return
        del self._working[outcome.slot]
        slot = self._table.slots[outcome.slot]
        if not self._table.take(slot, outcome.turn):
            self._begin(slot)

    def _give_up_late_ones(self, now_s: float) -> None:
        for index, (_, expires_s) in list(self._working.items()):
            if expires_s > now_s:
                return
            del self._working[index]
            self._runner.give_up(index)
            self._given_up += 1
            if self._given_up > max(4, 2 * len(self._table.slots)):
                raise TimeoutError(f"{self._given_up} matches gave no turn within {self._game.deadline_s:g} s")
            slot = self._table.slots[index]
            self._table.take(slot, TimeoutError(f"the match gave no turn within {self._game.deadline_s:g} s"))
            self._begin(slot)

    def _settle(self, now_s: float) -> None:
        """Send what is ready, when enough has come together or it has waited long enough."""
        while True:
            self._let_play()
            reserve = 1 if self._working else 0
            if not self._table.ready and self._answers_owed == reserve:
                self._gathering_since = None
                return
            if self._working and self._table.ready < self._enough:
                self._gathering_since = self._gathering_since or now_s
                if now_s < self._gathering_since + self._game.gather_s:
                    return
            lost_slots = self._table.flush(done=self._answers_owed > reserve)
            if not lost_slots and self._answers_owed > reserve:
                self._answers_owed -= 1
            for slot in lost_slots:
                self._begin(slot)
