"""The main loop of a host written in Python: `Match` in, frames out."""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError, ProtocolError
from ludus.hosting.clock import StageClock
from ludus.hosting.match import HostedGame, MakeGame, Match, Turn
from ludus.wire.channel import Channel, PipeChannel
from ludus.wire.frames import (
    Configure,
    EndingHead,
    ErrorBody,
    Kind,
    decode_actions,
    decode_configure,
    encode_arrivals,
    encode_ending,
    encode_error,
    encode_hello,
    encode_times,
)
from ludus.wire.seeds import derive


def serve(make: MakeGame, channel: Channel | None = None) -> int:
    """Play until told to stop; returns the exit status. Without a channel: stdin and stdout; prints go to stderr."""
    channel = channel or PipeChannel.take_stdio()
    try:
        return _converse(make, channel)
    except BrokenPipeError:
        return 0  # the fleet is gone, which means stop
    except ProtocolError as error:
        traceback.print_exc()
        channel.send(encode_error(ErrorBody(str(error), "internal")))
        return 1


def _converse(make: MakeGame, channel: Channel) -> int:
    first = channel.receive()
    if first is None or first[0] == Kind.STOP:
        return 0
    if first[0] != Kind.CONFIGURE:
        raise ProtocolError(f"first frame is {first[0].name}, expected CONFIGURE")
    configure = decode_configure(first[1])
    try:
        game = make(configure.options)
    except ConfigError as error:
        channel.send(encode_error(ErrorBody(str(error), "configuration")))
        return 2
    channel.send(encode_hello(game.spec, game.facts))
    table = _Table(game, configure, channel)
    table.open()
    while (frame := channel.receive()) is not None and frame[0] != Kind.STOP:
        table.clock.lap("wait")
        if frame[0] != Kind.ACTIONS:
            raise ProtocolError(f"received {frame[0].name}, expected ACTIONS or STOP")
        table.act(*decode_actions(frame[1]))
    return 0


class _Slot:
    """One place for matches, and what its seats have earned and chosen."""

    def __init__(self, index: int, match: Match, seats: int) -> None:
        self.index = index
        self.match = match
        self.number = -1
        self.seed = 0
        self.asked: set[int] = set()
        self.chosen: dict[int, int] = {}
        self.earned = np.zeros(seats, np.float32)
        self.opened: set[int] = set()  # seats that have been asked in this match
        self.legal: dict[int, NDArray[np.bool_]] = {}


class _Table:
    """All slots of this host."""

    def __init__(self, game: HostedGame, configure: Configure, channel: Channel) -> None:
        self._spec = game.spec
        self._channel = channel
        self._keep_log = configure.keep_log
        self._plan = _plan(configure)
        self._resumed = _resumed(configure)
        self._slots = [_Slot(index, game.match(), game.spec.seats) for index in range(configure.matches)]
        self._flush_after = -(-configure.matches // configure.parts)  # matches that go into one part of an answer
        self._advanced = 0
        self._ready: deque[tuple[_Slot, int, NDArray[np.uint8]]] = deque()
        self.clock = StageClock(configure.times_s)

    def open(self) -> None:
        for slot in self._slots:
            self._begin(slot)
        self._flush(done=True)

    def act(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        """Answer one ACTIONS frame. A match goes on when all its asked seats have chosen."""
        for place, choice in zip(row.tolist(), action.tolist(), strict=True):
            slot, seat = self._place(place)
            if not (0 <= choice < self._spec.actions and slot.legal[seat][choice]):
                raise ProtocolError(f"action {choice} for row {place} is not legal there")
            slot.asked.discard(seat)
            slot.chosen[seat] = choice
            if not slot.asked:
                chosen, slot.chosen = slot.chosen, {}
                self._play(slot, chosen)
        self._flush(done=True)

    def _place(self, row: int) -> tuple[_Slot, int]:
        index, seat = divmod(row, self._spec.seats)
        if not 0 <= index < len(self._slots) or seat not in self._slots[index].asked:
            raise ProtocolError(f"action for row {row}, which was not asked")
        return self._slots[index], seat

    def _begin(self, slot: _Slot) -> None:
        """Open matches in this slot until one asks somebody, or the schedule is exhausted."""
        for number, seed in chain(self._resumed.pop(slot.index, ()), self._plan):
            slot.number, slot.seed = number, seed
            slot.earned[:] = 0
            slot.opened.clear()
            slot.chosen.clear()
            slot.asked.clear()
            self.clock.lap("send")
            try:
                turn = slot.match.start(seed)
                self.clock.lap("simulate")
                if turn.over:
                    raise ProtocolError("the match was over before anybody was asked")
            except Exception as error:  # a game's bug loses one match, whatever it raises
                self._lose(slot, error)
                continue
            self._ask(slot, turn)
            return

    def _play(self, slot: _Slot, chosen: Mapping[int, int]) -> None:
        self.clock.lap("send")
        try:
            turn = slot.match.advance(chosen)
            self.clock.lap("simulate")
        except Exception as error:  # a game's bug loses one match, whatever it raises
            self._lose(slot, error)
            self._begin(slot)
            return
        if turn.over:
            self._end(slot, turn)
            self._begin(slot)
        else:
            self._ask(slot, turn)

    def _ask(self, slot: _Slot, turn: Turn) -> None:
        if self._advanced == self._flush_after:
            self._flush(done=False)
        slot.earned += turn.reward
        slot.asked = set(turn.seats)
        for index, seat in enumerate(turn.seats):
            slot.legal[seat] = turn.legal[index]
            self._ready.append((slot, seat, turn.obs[index]))
        self._advanced += 1

    def _end(self, slot: _Slot, turn: Turn) -> None:
        assert turn.score is not None
        reward = slot.earned + turn.reward
        head = EndingHead(
            slot.index,
            slot.number,
            list(turn.score),
            reward.tolist(),
            turn.truncated,
            slot.seed,
            dict(turn.facts),
            turn.log if self._keep_log else "",
        )
        self._channel.send(encode_ending(head, turn.obs if turn.truncated else None))

    def _lose(self, slot: _Slot, error: Exception) -> None:
        traceback.print_exception(error, file=sys.stderr)
        message = f"{type(error).__name__}: {error}"
        self._channel.send(encode_error(ErrorBody(message, "match", slot.index, slot.number)))

    def _flush(self, *, done: bool) -> None:
        """Send what is ready. A reward counts for the decision that is sent with it, then starts again."""
        self._advanced = 0
        ready, self._ready = self._ready, deque()
        if not ready and not done:
            return
        times = self.clock.due() if done else None
        if times is not None:
            self._channel.send(encode_times(times))
        n, seats = len(ready), self._spec.seats
        obs = np.zeros((n, self._spec.obs.nbytes), np.uint8)
        legal = np.zeros((n, self._spec.actions), np.bool_)
        reward = np.zeros(n, np.float32)
        for index, (slot, seat, row) in enumerate(ready):
            obs[index] = row
            legal[index] = slot.legal[seat]
            reward[index] = slot.earned[seat]
            slot.earned[seat] = 0
        self._channel.send(
            encode_arrivals(
                np.array([slot.index * seats + seat for slot, seat, _ in ready], np.int32),
                np.array([slot.number for slot, _, _ in ready], np.uint32),
                reward,
                np.array([_first(slot, seat) for slot, seat, _ in ready], np.bool_),
                legal,
                obs,
                done,
            )
        )
        self.clock.lap("send")


def _first(slot: _Slot, seat: int) -> bool:
    if seat in slot.opened:
        return False
    slot.opened.add(seat)
    return True


def _plan(configure: Configure) -> Iterator[tuple[int, int]]:
    """(number, seed) of the matches to come."""
    if configure.schedule is not None:
        return iter(configure.schedule)
    following = configure.resume.following if configure.resume is not None else 0
    return ((number, derive(configure.seed, number)) for number in count(following))


def _resumed(configure: Configure) -> dict[int, tuple[tuple[int, int]]]:
    """Slot -> the (number, seed) it opens with, where another process of this host has begun that match."""
    numbers = configure.resume.open if configure.resume is not None else []
    return {
        slot: ((number, derive(configure.seed, number)),) for slot, number in enumerate(numbers) if number is not None
    }
