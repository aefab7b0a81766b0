"""A fleet without processes, for tests: `send` advances matches that are written in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.interface import FleetHealth
from ludus.fleet.voided import VoidedMatches
from ludus.metrics.times import Times
from ludus.sdk.match import Match, Turn
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending


@dataclass
class _Slot:
    match: Match
    number: int
    turn: Turn
    waiting_seats: set[int]  # seats that must choose
    reward: NDArray[np.float32]  # [S] earned since each seat's last decision
    fresh: set[int]  # seats that have not chosen yet in this match
    actions: dict[int, int] = field(default_factory=dict)


class InProcessFleet:
    """Implements `Fleet` in this process. `recv` returns at most `at_once` rows (0: all), the longest waiting first."""

    def __init__(
        self, spec: GameSpec, new_match: Callable[[], Match], matches: int, *, seed: int = 0, at_once: int = 0
    ) -> None:
        self.spec = spec
        self.hosts = 1
        self.rows = matches * spec.seats
        self._voided = VoidedMatches()
        self._seed = seed
        self._at_once = at_once
        self._matches_begun = 0
        self._waiting: list[tuple[int, int]] = []  # (slot, seat) that must choose and have not been returned
        self._endings: list[Ending] = []
        self._slots = [self._begin(slot, new_match()) for slot in range(matches)]

    @property
    def health(self) -> FleetHealth:
        return FleetHealth(alive=1, restarts=0, voided=Counter(self._voided.by_reason))

    def take_times(self) -> Times:
        """Return no times: matches run in the caller's process."""
        return Times()

    def recv(self, timeout_s: float, *, wait_all: bool = False) -> Arrivals:
        count = self._at_once or len(self._waiting)
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        endings, self._endings = tuple(self._endings), []
        self._voided.count_endings(endings)
        n, spec = len(ready), self.spec
        obs, legal = np.zeros((n, spec.obs.nbytes), np.uint8), np.zeros((n, spec.actions), np.bool_)
        row, match = np.zeros(n, np.int32), np.zeros(n, np.int64)
        reward, opens = np.zeros(n, np.float32), np.zeros(n, np.bool_)
        for at, (index, seat) in enumerate(ready):
            slot = self._slots[index]
            place = slot.turn.seats.index(seat)
            obs[at], legal[at] = slot.turn.obs[place], slot.turn.legal[place]
            row[at], match[at] = index * spec.seats + seat, slot.number
            reward[at], slot.reward[seat] = slot.reward[seat], 0
            opens[at] = seat in slot.fresh
            slot.fresh.discard(seat)
        return Arrivals(row, match, obs, legal, reward, opens, endings)

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        for one, choice in zip(row.tolist(), action.tolist(), strict=True):
            index, seat = divmod(one, self.spec.seats)
            slot = self._slots[index]
            slot.waiting_seats.remove(seat)
            slot.actions[seat] = choice
            if not slot.waiting_seats:
                self._advance(index)

    def void(self, index: int, reason: str) -> None:
        """Void the match in this slot, as if its host had died, and begin another."""
        self._end(index, void=reason)

    def saved_state(self) -> None:
        """Return None: another fleet cannot continue these matches."""

    def close(self) -> None:
        pass

    def _advance(self, index: int) -> None:
        slot = self._slots[index]
        actions, slot.actions = slot.actions, {}
        slot.turn = slot.match.advance(actions)
        slot.reward += slot.turn.reward
        if slot.turn.over:
            self._end(index, void="")
        else:
            slot.waiting_seats = set(slot.turn.seats)
            self._waiting += [(index, seat) for seat in slot.turn.seats]

    def _end(self, index: int, void: str) -> None:
        slot, S = self._slots[index], self.spec.seats
        self._waiting = [(other, seat) for other, seat in self._waiting if other != index]
        self._endings.append(
            Ending(
                match=slot.number,
                rows=np.arange(index * S, index * S + S, dtype=np.int32),
                score=np.array(slot.turn.score or (0.0,) * S, np.float32),
                reward=slot.reward,
                truncated=slot.turn.truncated and not void,
                seed=self._seed + slot.number,
                facts=slot.turn.facts,
                final_obs=slot.turn.obs if slot.turn.truncated and not void else None,
                void=void,
                out=slot.turn.out,
            )
        )
        self._slots[index] = self._begin(index, slot.match)

    def _begin(self, index: int, match: Match) -> _Slot:
        number = self._matches_begun
        self._matches_begun += 1
        turn = match.start(self._seed + number)
        self._waiting += [(index, seat) for seat in turn.seats]
        seats = self.spec.seats
        return _Slot(match, number, turn, set(turn.seats), turn.reward.copy(), set(range(seats)))
