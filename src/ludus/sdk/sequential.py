"""The main loop of a host that plays its matches one after the other, in one thread. Used by `serve`."""

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
    """Plays all matches of a host in turn. Answers every ACTIONS frame before it reads the next one."""

    def __init__(self, matches: Sequence[Match], configure: Configure) -> None:
        self._matches = matches
        self._flush_after = -(-configure.matches // configure.parts)  # matches in one part of an answer
        self._advanced = 0

    def run(self, table: SlotTable, channel: Channel) -> None:
        """Play until STOP arrives or the channel is closed. Raises ProtocolError if the fleet breaks the protocol."""
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
        """Advance each match whose seats have all chosen, and send the answer."""
        for place, choice in zip(row.tolist(), action.tolist(), strict=True):
            turn_actions = self._table.choose(place, choice)
            if turn_actions is None:
                continue
            self._flush_when_due()
            if not self._played(*turn_actions):
                self._begin(turn_actions[0])
        self._flush(done=True)

    def _begin(self, slot: Slot) -> None:
        """Start matches in this slot until one has a seat that must choose, or no match is left to play."""
        while self._table.next_match(slot):
            if self._played(slot, None):
                return

    def _played(self, slot: Slot, actions: Mapping[int, int] | None) -> bool:
        """Start (actions None) or advance the match in a slot. Returns False if the match has ended or failed."""
        clock, match = self._table.clock, self._matches[slot.index]
        clock.lap("send")
        turn: Turn | BaseException
        try:
            turn = match.start(slot.seed) if actions is None else match.advance(actions)
        except (Exception, SystemExit) as error:  # any exception of a game voids one match
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
