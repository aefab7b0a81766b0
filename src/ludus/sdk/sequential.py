"""Matches that are played one after the other, in the thread that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ProtocolError
from ludus.sdk.match import Match, Turn
from ludus.sdk.slots import Slot, SlotTable
from ludus.sdk.threads import close
from ludus.wire.bodies import Configure
from ludus.wire.channel import Channel
from ludus.wire.frames import FrameKind, decode_actions


class MatchesInTurn:
    """The loop of a host: every ACTIONS frame is answered before the next one is read."""

    def __init__(self, matches: Sequence[Match], configure: Configure) -> None:
        self._matches = matches
        self._flush_after = -(-configure.matches // configure.parts)  # matches that go into one part of an answer
        self._advanced = 0

    def run(self, table: SlotTable, channel: Channel) -> None:
        """Until STOP or the end of the channel. Raises ProtocolError."""
        self._table, clock = table, table.clock
        for slot in table.slots:
            self._flush_when_due()
            self._begin(slot)
        self._flush(done=True)
        while (frame := channel.receive()) is not None and frame[0] != FrameKind.STOP:
            clock.lap("wait")
            if frame[0] == FrameKind.DRAIN:
                table.drain()
                continue
            if frame[0] != FrameKind.ACTIONS:
                raise ProtocolError(f"received {frame[0].name}, expected ACTIONS, DRAIN or STOP")
            self._act(*decode_actions(frame[1]))

    def close(self, grace_s: float) -> None:
        for match in self._matches:
            close(match)

    def _act(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """A match goes on when all its asked seats have chosen."""
        for place, choice in zip(row.tolist(), action.tolist(), strict=True):
            turn_actions = self._table.choose(place, choice)
            if turn_actions is None:
                continue
            self._flush_when_due()
            if not self._played(*turn_actions):
                self._begin(turn_actions[0])
        self._flush(done=True)

    def _begin(self, slot: Slot) -> None:
        """Open matches in this slot until one asks somebody, or the schedule is exhausted."""
        while self._table.next_match(slot):
            if self._played(slot, None):
                return

    def _played(self, slot: Slot, actions: Mapping[int, int] | None) -> bool:
        """Whether the match goes on."""
        clock, match = self._table.clock, self._matches[slot.index]
        clock.lap("send")
        turn: Turn | BaseException
        try:
            turn = match.start(slot.seed) if actions is None else match.advance(actions)
        except (Exception, SystemExit) as error:  # whatever a game raises loses one match
            turn = error
        clock.lap("simulate")
        goes_on = self._table.take(slot, turn)
        self._advanced += goes_on
        return goes_on

    def _flush_when_due(self) -> None:
        if self._advanced == self._flush_after:
            self._flush(done=False)

    def _flush(self, *, done: bool) -> None:
        while lost_slots := self._table.flush(done=done):
            for slot in lost_slots:
                self._begin(slot)
        self._advanced = 0
