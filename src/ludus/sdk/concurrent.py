"""The main loop of a host whose matches wait for something, such as a socket, all at the same time. Used by `serve`.

Each row is sent as soon as it is ready. A host may send frames only while it owes an answer, so it keeps one answer
open as long as any match is working. Rows that become ready are sent as parts of that answer, and all further ACTIONS
frames are answered at once (docs/host-protocol.md).
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

GATHERED_SHARE = 4  # rows are sent without further delay when one in this many of all rows is ready

Frame = tuple[FrameKind, memoryview]


class WaitingMatches:
    """Plays the matches of a host with a `Runner`. Frames of the fleet and outcomes of the runner share one queue."""

    def __init__(self, game: HostedGame, runner: Runner) -> None:
        self._game = game
        self._runner = runner
        self._events: queue.SimpleQueue[Frame | Outcome | Exception | None] = queue.SimpleQueue()
        self._tickets = count()
        self._working: dict[int, tuple[int, float]] = {}  # slot -> (ticket, deadline), oldest first
        self._jobs: list[Job] = []  # jobs that were not passed to the runner yet
        self._given_up = 0
        self._answers_owed = 1  # the opening is the first answer
        self._gathering_since: float | None = None

    def run(self, table: SlotTable, channel: Channel) -> None:
        """Play until STOP arrives or the channel is closed. Raises ProtocolError if the fleet breaks the protocol."""
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
        """Put the frames of the channel into the event queue. Runs in a thread of its own."""
        try:
            while (frame := channel.receive()) is not None and frame[0] != FrameKind.STOP:
                self._events.put(frame)
        except Exception as error:
            self._events.put(error)
        else:
            self._events.put(None)

    def _take_events(self) -> bool:
        """Wait for an event or the next deadline, then handle all queued events. Returns False at STOP."""
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
        """Return the seconds until ready rows must be sent or a match exceeds its deadline; None without either."""
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
        """Pass all new jobs to the runner in one call: one call per job would switch between the threads for each."""
        if self._jobs:
            jobs, self._jobs = self._jobs, []
            self._runner.play(jobs)

    def _became(self, outcome: Outcome) -> None:
        """Handle the next turn or the error of a match. Ignores an outcome of a match that was given up."""
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
                raise TimeoutError(f"{self._given_up} matches returned no turn within {self._game.deadline_s:g} s")
            slot = self._table.slots[index]
            self._table.take(slot, TimeoutError(f"the match returned no turn within {self._game.deadline_s:g} s"))
            self._begin(slot)

    def _settle(self, now_s: float) -> None:
        """Send the ready rows if there are enough, if they have waited `gather_s`, or if no match is working."""
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
