"""The slots of a host written in Python: the match in each slot, its pending actions and rewards, and its frames.

The main loops in `sequential`, `batched` and `concurrent` play the matches and use this table.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import ConfigError, ProtocolError
from ludus.sdk.clock import ActivityClock
from ludus.sdk.match import GroupTerms, HostedGame, Turn
from ludus.sdk.turn_check import BadTurn, TurnCheck
from ludus.spec import GameSpec
from ludus.wire import terms as reward_terms
from ludus.wire.bodies import Configure, EndingHead, ErrorBody
from ludus.wire.channel import Channel
from ludus.wire.frames import MAX_BODY, encode_arrivals, encode_ending, encode_error, encode_event, encode_times
from ludus.wire.seeds import match_seed

_PADDING = 8 + 6 * 8  # most bytes of an ARRIVALS body besides its rows
_ROW = 3 * 4 + 1  # bytes of a row in its first four columns


class Slot:
    """One slot: its current match, the seats that must choose, and their actions and rewards so far."""

    def __init__(self, index: int, seats: int) -> None:
        self.index = index
        self.number = -1
        self.seed = 0
        self.waiting_seats: set[int] = set()
        self.actions: dict[int, int] = {}
        self.earned = np.zeros(seats, np.float32)
        self.opened: set[int] = set()  # seats that have had a decision in this match
        self.legal: dict[int, NDArray[np.bool_]] = {}
        self.terms: dict[str, NDArray[np.float64]] = {}  # reward terms so far, [S] by name


class SlotTable:
    """All slots of a host. It checks actions and turns, and sends ARRIVALS, ENDING and ERROR frames."""

    def __init__(self, game: HostedGame, configure: Configure, channel: Channel) -> None:
        self._spec = game.spec
        self._channel = channel
        self._keep_log = configure.keep_log
        self._sends_terms = configure.events
        self._plan = _plan(configure)
        self._resumed = _resumed(configure)
        self._check = TurnCheck(game.spec)
        self._at_most = rows_at_most(game.spec)
        self._ready: deque[tuple[Slot, int, NDArray[np.uint8]]] = deque()
        self.slots = [Slot(index, game.spec.seats) for index in range(configure.matches)]
        self.clock = ActivityClock(configure.times_s)

    @property
    def ready(self) -> int:
        """Number of rows that wait to be sent."""
        return len(self._ready)

    def next_match(self, slot: Slot) -> bool:
        """Assign number and seed of the next match to a slot. Returns False if no match is left to play."""
        following = next(chain(self._resumed.pop(slot.index, ()), self._plan), None)
        slot.waiting_seats.clear()
        slot.actions.clear()
        if following is None:
            return False
        slot.number, slot.seed = following
        slot.earned[:] = 0
        slot.opened.clear()
        slot.terms.clear()
        return True

    def drain(self) -> None:
        """Begin no more matches: each slot stays empty after its current match."""
        self._plan = iter(())
        self._resumed.clear()

    def choose(self, row: int, choice: int) -> tuple[Slot, Mapping[int, int]] | None:
        """Record the action of a row. Returns the slot and all actions if every seat has chosen now, else None.

        Raises ProtocolError for a row that does not wait for an action, and for an illegal action.
        """
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
        """Handle the next turn of a match, or its error.

        Returns True if the match continues: the next `flush` sends its rows. Returns False if it has ended or failed:
        the frame about that is sent, and the next match may begin in its slot.
        """
        if not isinstance(became, Turn):
            wrong = BadTurn(f"a match returned {type(became).__name__}, expected a Turn")
            self._lose(slot, became if isinstance(became, BaseException) else wrong)
            return False
        try:
            if became.terms:
                self._add_terms(slot, became)
            if not became.over:
                self._ask(slot, became)
                return True
            frame = self._ending(slot, became)
        except Exception as error:  # a malformed turn may raise anything
            self._lose(slot, error)
            return False
        self._channel.send(frame)
        return False

    def report_terms(self, slots: Sequence[int], terms: GroupTerms) -> None:
        """Send the reward terms of the matches in these slots, if the fleet asked for events."""
        if not self._sends_terms:
            return
        for place, index in enumerate(slots):
            of_match = dict(zip(terms.names, terms.earned[place].T.tolist(), strict=True))
            self._send_terms(self.slots[index], of_match)

    def flush(self, *, done: bool) -> list[Slot]:
        """Send all ready rows; `done` marks the end of an answer.

        If some rows are invalid, sends no rows, reports their matches as lost and returns their slots. Begin other
        matches there and call it again. Sent rewards restart at 0.
        """
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

    def _add_terms(self, slot: Slot, turn: Turn) -> None:
        terms = self._check.terms(turn.terms)
        for name, values in terms.items():
            slot.terms[name] = slot.terms.get(name, 0.0) + np.array(values)
        if self._sends_terms:
            self._send_terms(slot, terms)

    def _send_terms(self, slot: Slot, terms: Mapping[str, Sequence[float]]) -> None:
        self._channel.send(encode_event(reward_terms.event(slot.number, terms)))

    def _ask(self, slot: Slot, turn: Turn) -> None:
        seats = self._check.asking(turn)
        slot.earned += turn.reward
        slot.waiting_seats = seats
        for index, seat in enumerate(turn.seats):
            slot.legal[seat] = turn.legal[index]
            self._ready.append((slot, seat, turn.obs[index]))

    def _ending(self, slot: Slot, turn: Turn) -> bytes:
        if not slot.opened:
            raise BadTurn("the match was over before any seat had to choose")
        score = self._check.ending(turn)
        head = EndingHead(
            slot.index,
            slot.number,
            score,
            self._check.earned(slot.earned + turn.reward),
            turn.truncated,
            slot.seed,
            {**_term_facts(slot), **{name: float(value) for name, value in turn.facts.items()}},
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


def _term_facts(slot: Slot) -> dict[str, float]:
    """Return what each seat earned by each reward term in the match of a slot, as facts."""
    return {
        reward_terms.fact(name, seat): float(value)
        for name, values in slot.terms.items()
        for seat, value in enumerate(values)
    }


def rows_at_most(spec: GameSpec) -> int:
    """Return how many rows fit into one frame. Raises ConfigError if that is less than one match has seats."""
    rows = (MAX_BODY - _PADDING) // (_ROW + (spec.actions + 7) // 8 + spec.obs.nbytes)
    if rows < spec.seats:
        size = f"{spec.seats} observations of {spec.obs.nbytes:,} bytes for one match of {spec.name}"
        raise ConfigError(f"{size} do not fit into a frame of {MAX_BODY:,}: show less, or in a smaller dtype")
    return rows


def _plan(configure: Configure) -> Iterator[tuple[int, int]]:
    """Return an iterator over (number, seed) of the matches to play, without those that are resumed."""
    if configure.schedule is not None:
        return iter(configure.schedule)
    following = configure.resume.following if configure.resume is not None else 0
    return ((number, match_seed(configure.seed, number)) for number in count(following))


def _resumed(configure: Configure) -> dict[int, tuple[tuple[int, int]]]:
    """Return for each slot that continues a match of an earlier process: slot -> (number, seed), in a tuple."""
    numbers = configure.resume.open if configure.resume is not None else []
    return {
        slot: ((number, match_seed(configure.seed, number)),)
        for slot, number in enumerate(numbers)
        if number is not None
    }
