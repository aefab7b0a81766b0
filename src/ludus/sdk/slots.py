"""The slots of a host written in Python: which match is where, what its seats have earned, and the frames about it.

Who plays the matches, one after the other or all at the same time, is the caller's business (serve.py, waiting.py).
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import ConfigError, ProtocolError
from ludus.sdk.clock import ActivityClock
from ludus.sdk.match import HostedGame, Turn
from ludus.sdk.turn_check import BadTurn, TurnCheck
from ludus.spec import GameSpec
from ludus.wire.bodies import Configure, EndingHead, ErrorBody
from ludus.wire.channel import Channel
from ludus.wire.frames import MAX_BODY, encode_arrivals, encode_ending, encode_error, encode_times
from ludus.wire.seeds import match_seed

_PADDING = 8 + 6 * 8  # bytes of an ARRIVALS body beside its rows, at most
_ROW = 3 * 4 + 1  # bytes of a row in its first four columns


class Slot:
    """One place for matches, and what its seats have earned and chosen."""

    def __init__(self, index: int, seats: int) -> None:
        self.index = index
        self.number = -1
        self.seed = 0
        self.waiting_seats: set[int] = set()
        self.actions: dict[int, int] = {}
        self.earned = np.zeros(seats, np.float32)
        self.opened: set[int] = set()  # seats that have been asked in this match
        self.legal: dict[int, NDArray[np.bool_]] = {}


class SlotTable:
    """All slots of a host."""

    def __init__(self, game: HostedGame, configure: Configure, channel: Channel) -> None:
        self._spec = game.spec
        self._channel = channel
        self._keep_log = configure.keep_log
        self._plan = _plan(configure)
        self._resumed = _resumed(configure)
        self._check = TurnCheck(game.spec)
        self._at_most = rows_at_most(game.spec)
        self._ready: deque[tuple[Slot, int, NDArray[np.uint8]]] = deque()
        self.slots = [Slot(index, game.spec.seats) for index in range(configure.matches)]
        self.clock = ActivityClock(configure.times_s)

    @property
    def ready(self) -> int:
        """Rows that wait to be sent."""
        return len(self._ready)

    def next_match(self, slot: Slot) -> bool:
        """Put the next match into the slot; its seed is what to start it with. False: the schedule is exhausted."""
        following = next(chain(self._resumed.pop(slot.index, ()), self._plan), None)
        slot.waiting_seats.clear()
        slot.actions.clear()
        if following is None:
            return False
        slot.number, slot.seed = following
        slot.earned[:] = 0
        slot.opened.clear()
        return True

    def drain(self) -> None:
        """Begin no more matches: slots stay empty when theirs is over."""
        self._plan = iter(())
        self._resumed.clear()

    def choose(self, row: int, choice: int) -> tuple[Slot, Mapping[int, int]] | None:
        """Note what a row has chosen; the slot and the actions its match goes on with, if this was the last of them."""
        index, seat = divmod(row, self._spec.seats)
        if not 0 <= index < len(self.slots) or seat not in self.slots[index].waiting_seats:
            raise ProtocolError(f"action for row {row}, which was not asked")
        slot = self.slots[index]
        if not (0 <= choice < self._spec.actions and slot.legal[seat][choice]):
            raise ProtocolError(f"action {choice} for row {row} is not legal there")
        slot.waiting_seats.discard(seat)
        slot.actions[seat] = choice
        if slot.waiting_seats:
            return None
        actions, slot.actions = slot.actions, {}
        return slot, actions

    def take(self, slot: Slot, became: Turn | BaseException) -> bool:
        """Handle the new state of a match. True: it goes on, its rows are sent with the next `flush`; False: it has
        ended or is lost, which was sent, and the next one may begin in its slot."""
        if not isinstance(became, Turn):
            wrong = BadTurn(f"a match gave {type(became).__name__}, expected a Turn")
            self._lose(slot, became if isinstance(became, BaseException) else wrong)
            return False
        try:
            if not became.over:
                self._ask(slot, became)
                return True
            frame = self._ending(slot, became)
        except Exception as error:  # a turn can be wrong in more ways than are worth a check of their own
            self._lose(slot, error)
            return False
        self._channel.send(frame)
        return False

    def flush(self, *, done: bool) -> list[Slot]:
        """Send what is ready, unless rows of some matches cannot be sent: then nothing is, those matches are lost, and
        their slots are returned for the next ones to begin there. A reward counts for the decision that is sent with
        it, then starts again."""
        ready = list(self._ready)
        n = len(ready)
        obs = np.zeros((n, self._spec.obs.nbytes), np.uint8)
        legal = np.zeros((n, self._spec.actions), np.bool_)
        reward = np.zeros(n, np.float32)
        for index, (slot, seat, row) in enumerate(ready):
            obs[index] = row
            legal[index] = slot.legal[seat]
            reward[index] = slot.earned[seat]
        faults = self._check.faults(legal, reward, obs)
        if faults:
            fault_of = {ready[index][0]: fault for index, fault in faults.items()}
            self._ready = deque(each for each in ready if each[0] not in fault_of)
            for slot, fault in fault_of.items():
                self._lose(slot, fault)
            return list(fault_of)
        self._ready.clear()
        if not n and not done:
            return []
        times = self.clock.due() if done else None
        if times is not None:
            self._channel.send(encode_times(times))
        for start in range(0, max(n, 1), self._at_most):
            part = slice(start, start + self._at_most)
            self._send(ready[part], reward[part], legal[part], obs[part], done and part.stop >= n)
        self.clock.lap("send")
        return []

    def _ask(self, slot: Slot, turn: Turn) -> None:
        seats = self._check.asking(turn)
        slot.earned += turn.reward
        slot.waiting_seats = seats
        for index, seat in enumerate(turn.seats):
            slot.legal[seat] = turn.legal[index]
            self._ready.append((slot, seat, turn.obs[index]))

    def _ending(self, slot: Slot, turn: Turn) -> bytes:
        if not slot.opened:
            raise BadTurn("the match was over before anybody was asked")
        score = self._check.ending(turn)
        head = EndingHead(
            slot.index,
            slot.number,
            score,
            self._check.earned(slot.earned + turn.reward),
            turn.truncated,
            slot.seed,
            {name: float(value) for name, value in turn.facts.items()},
            turn.log if self._keep_log else "",
            list(turn.out),
        )
        return encode_ending(head, turn.obs if turn.truncated else None)

    def _lose(self, slot: Slot, error: BaseException) -> None:
        traceback.print_exception(error, file=sys.stderr)
        slot.waiting_seats.clear()
        message = f"{type(error).__name__}: {error}"[: limits.MESSAGE_CHARS]
        self._channel.send(encode_error(ErrorBody(message, "match", slot.index, slot.number)))

    def _send(
        self,
        ready: list[tuple[Slot, int, NDArray[np.uint8]]],
        reward: NDArray[np.float32],
        legal: NDArray[np.bool_],
        obs: NDArray[np.uint8],
        done: bool,
    ) -> None:
        seats = self._spec.seats
        row = np.array([slot.index * seats + seat for slot, seat, _ in ready], np.int32)
        number = np.array([slot.number for slot, _, _ in ready], np.uint32)
        opens = np.array([seat not in slot.opened for slot, seat, _ in ready], np.bool_)
        for slot, seat, _ in ready:
            slot.earned[seat] = 0
            slot.opened.add(seat)
        self._channel.send(encode_arrivals(row, number, reward, opens, legal, obs, done))


def rows_at_most(spec: GameSpec) -> int:
    """That fit into one frame. Raises ConfigError where not all seats of one match do."""
    rows = (MAX_BODY - _PADDING) // (_ROW + (spec.actions + 7) // 8 + spec.obs.nbytes)
    if rows < spec.seats:
        size = f"{spec.seats} observations of {spec.obs.nbytes:,} bytes for one match of {spec.name}"
        raise ConfigError(f"{size} do not fit into a frame of {MAX_BODY:,}: show less, or in a smaller dtype")
    return rows


def _plan(configure: Configure) -> Iterator[tuple[int, int]]:
    """(number, seed) of the matches to come."""
    if configure.schedule is not None:
        return iter(configure.schedule)
    following = configure.resume.following if configure.resume is not None else 0
    return ((number, match_seed(configure.seed, number)) for number in count(following))


def _resumed(configure: Configure) -> dict[int, tuple[tuple[int, int]]]:
    """Slot -> the (number, seed) it opens with, where another process of this host has begun that match."""
    numbers = configure.resume.open if configure.resume is not None else []
    return {
        slot: ((number, match_seed(configure.seed, number)),)
        for slot, number in enumerate(numbers)
        if number is not None
    }
