"""The main loop of a host whose game advances many matches in one array operation (`MatchGroup`). Used by `serve`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ProtocolError
from ludus.sdk.match import GroupTurn, MatchGroup, Turn
from ludus.sdk.slots import SlotTable, rows_at_most
from ludus.sdk.threads import close
from ludus.sdk.turn_check import BadTurn, TurnCheck
from ludus.spec import GameSpec
from ludus.wire.bodies import Configure
from ludus.wire.channel import Channel
from ludus.wire.frames import FrameKind, decode_actions, encode_arrivals, encode_times

_NOBODY = -1  # no action has been chosen


class _Ready(NamedTuple):
    """Matches of one GroupTurn whose seats must choose: their slots, and their indices in the turn's arrays."""

    slot: NDArray[np.intp]
    turn: GroupTurn
    place: NDArray[np.intp]
    opens: bool


class MatchesTogether:
    """Plays all matches of a host through one MatchGroup.

    Answers every ACTIONS frame before it reads the next one, in as many parts as CONFIGURE asks for.
    """

    def __init__(self, group: MatchGroup, spec: GameSpec, configure: Configure) -> None:
        self._group, self._spec = group, spec
        self._part = -(-configure.matches // configure.parts)  # matches in one part of an answer
        self._check = TurnCheck(spec)
        self._at_most = rows_at_most(spec) // spec.seats  # matches that fit into a frame
        self._is_waiting = np.zeros((configure.matches, spec.seats), np.bool_)
        self._actions = np.full((configure.matches, spec.seats), _NOBODY, np.int32)
        self._legal = np.zeros((configure.matches, spec.seats, spec.actions), np.bool_)
        self._number = np.zeros(configure.matches, np.uint32)

    def run(self, table: SlotTable, channel: Channel) -> None:
        """Play until STOP arrives or the channel is closed. Raises ProtocolError if the fleet breaks the protocol."""
        self._table, self._channel = table, channel
        self._answer(list(range(len(table.slots))), begin=True)
        while (frame := channel.receive()) is not None and frame[0] != FrameKind.STOP:
            table.clock.lap("wait")
            if frame[0] == FrameKind.DRAIN:
                table.drain()
                continue
            if frame[0] != FrameKind.ACTIONS:
                raise ProtocolError(f"received {frame[0].name}, expected ACTIONS, DRAIN or STOP")
            self._answer(self._complete(*decode_actions(frame[1])), begin=False)

    def close(self, grace_s: float) -> None:
        close(self._group)

    def _complete(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> list[int]:
        """Record these actions. Returns the slots in which all seats have chosen now.

        Raises ProtocolError for a row that does not wait for an action, and for an illegal action.
        """
        waiting, actions = self._is_waiting.reshape(-1), self._actions.reshape(-1)
        inside = (row >= 0) & (row < waiting.size)
        if not (inside.all() and waiting[row].all() and len(np.unique(row)) == len(row)):
            wrong = row[~inside] if not inside.all() else row[~waiting[row]]
            raise ProtocolError(f"action for row {wrong[0] if len(wrong) else row[0]}, which was not asked")
        legal = self._legal.reshape(waiting.size, -1)
        fits = (action >= 0) & (action < self._spec.actions)
        fits[fits] = legal[row[fits], action[fits]]
        if not fits.all():
            at = int(np.flatnonzero(~fits)[0])
            raise ProtocolError(f"action {action[at]} for row {row[at]} is not legal there")
        waiting[row], actions[row] = False, action
        slots = np.unique(row // self._spec.seats)
        complete: list[int] = slots[~self._is_waiting[slots].any(axis=1)].tolist()
        return complete

    def _answer(self, slots: list[int], *, begin: bool) -> None:
        parts = [slots[start : start + self._part] for start in range(0, len(slots), self._part)] or [[]]
        for index, part in enumerate(parts):
            self._table.clock.lap("send")
            self._play(part, begin=begin, done=index == len(parts) - 1)

    def _play(self, slots: list[int], *, begin: bool, done: bool) -> None:
        """Advance or begin the matches in these slots, begin the next match where one has ended, and send all rows."""
        ready: list[_Ready] = []
        if not begin and slots:
            turn = self._group.advance(slots, self._actions[slots])
            slots = self._sorted(slots, turn, ready, opens=False)
        while slots:
            slots = [slot for slot in slots if self._table.next_match(self._table.slots[slot])]
            if slots:
                turn = self._group.start(slots, [self._table.slots[slot].seed for slot in slots])
                slots = self._sorted(slots, turn, ready, opens=True)
        self._table.clock.lap("simulate")
        self._send(ready, done=done)

    def _sorted(self, slots: list[int], turn: GroupTurn, ready: list[_Ready], *, opens: bool) -> list[int]:
        """Report matches that are over or lost, add the others to `ready`, and return the slots that are free now."""
        if turn.terms is not None:
            self._table.report_terms(slots, turn.terms)
        outcomes: dict[int, Turn | BaseException] = {**self._faults(turn), **turn.over, **turn.lost}
        for place, became in outcomes.items():
            self._table.take(self._table.slots[slots[place]], became)
        running = np.array([place for place in range(len(slots)) if place not in outcomes], np.intp)
        where = np.array(slots, np.intp)[running]
        self._is_waiting[where] = True
        self._legal[where] = turn.legal[running]
        if opens:
            for slot in where.tolist():
                self._number[slot] = self._table.slots[slot].number
                self._table.slots[slot].opened.update(range(self._spec.seats))
        ready.append(_Ready(where, turn, running, opens))
        return [slots[place] for place in outcomes]

    def _faults(self, turn: GroupTurn) -> dict[int, BadTurn]:
        """Return the errors of matches with a row that cannot be sent, by index in the turn's arrays."""
        rows = turn.obs.shape[0] * self._spec.seats
        legal, obs = turn.legal.reshape(rows, -1), turn.obs.reshape(rows, -1)
        faults = self._check.faults(legal, turn.reward.reshape(rows), obs)
        return {row // self._spec.seats: fault for row, fault in faults.items()}

    def _send(self, ready: list[_Ready], *, done: bool) -> None:
        rows = sum(len(each.slot) for each in ready)
        if not rows and not done:
            return
        times = self._table.clock.due() if done else None
        if times is not None:
            self._channel.send(encode_times(times))
        frames = [cut for each in ready for cut in _cut(each, self._at_most)]
        for index, frame in enumerate(frames):
            self._channel.send(self._encoded(frame, done=done and index == len(frames) - 1))
        if not frames:
            self._channel.send(self._encoded(None, done=True))
        self._table.clock.lap("send")

    def _encoded(self, frame: _Ready | None, *, done: bool) -> bytes:
        S, spec = self._spec.seats, self._spec
        if frame is None:
            empty = np.zeros(0, np.int32), np.zeros(0, np.uint32), np.zeros(0, np.float32), np.zeros(0, np.bool_)
            none = np.zeros((0, spec.actions), np.bool_), np.zeros((0, spec.obs.nbytes), np.uint8)
            return encode_arrivals(*empty, *none, done)
        turn, place, rows = frame.turn, frame.place, len(frame.slot) * S
        return encode_arrivals(
            (frame.slot[:, None] * S + np.arange(S)).reshape(rows).astype(np.int32),
            np.repeat(self._number[frame.slot], S),
            turn.reward[place].reshape(rows),
            np.full(rows, frame.opens),
            turn.legal[place].reshape(rows, spec.actions),
            turn.obs[place].reshape(rows, spec.obs.nbytes),
            done,
        )


def _cut(ready: _Ready, at_most: int) -> list[_Ready]:
    """Split matches into pieces of at most `at_most`, so that each fits into a frame."""
    starts = range(0, len(ready.slot), at_most)
    return [
        _Ready(ready.slot[start : start + at_most], ready.turn, ready.place[start : start + at_most], ready.opens)
        for start in starts
    ]
