"""From scores of what each slot could do to one legal action of the flat set.

Axes: n rows, S active slots a side, V variants, T targets, M = 4 moves. A slot's actions are V*T*M uses of a move,
6 switches and, in doubles, pass.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostError
from ludus.spec import GameSpec
from ludus.types import Arrivals

Floats = NDArray[np.float32]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

MOVES = 4
TEAM = 6


class ActionMap:
    """The flat action set of one format."""

    def __init__(self, spec: GameSpec) -> None:
        layout = spec.layout
        try:
            self.slots = int(cast(int, layout["slots"]))
            self.variants = tuple(cast(list[str], layout["variants"]))
            self.targets = int(cast(int, layout["targets"]))
            self.slot_actions = int(cast(int, layout["slot_actions"]))
        except KeyError as missing:
            raise HostError(f"{spec.name}: its layout has no {missing}, which scripted policies read") from None
        self.uses = len(self.variants) * self.targets * MOVES
        self.joint = self.slot_actions**self.slots
        expected = self.uses + TEAM + (self.slots > 1)
        if self.slots not in (1, 2) or self.slot_actions != expected:
            raise HostError(
                f"{spec.name}: {self.slots} slots of {self.slot_actions} actions, expected {expected} in each"
            )
        picks = spec.tables.get("preview")
        self.picks: Ints | None = (
            None if picks is None or not len(picks) else picks.astype(np.intp)
        )  # [previews, picked]

    def of_slots(self, legal: Bools) -> Bools:
        """What each slot may do in at least one legal action [n, S, slot actions]."""
        if self.slots == 1:
            return legal[:, None, : self.slot_actions]
        pairs = self._pairs(legal)
        return np.stack((some(pairs, 2), some(pairs, 1)), axis=1)

    def uses_of(self, slots: NDArray[Scalar]) -> NDArray[Scalar]:
        """The uses of moves [n, S, V, T, M] in an array [n, S, slot actions], without a copy."""
        return slots[..., : self.uses].reshape(*slots.shape[:2], len(self.variants), self.targets, MOVES)

    def switches_of(self, slots: NDArray[Scalar]) -> NDArray[Scalar]:
        """The switches [n, S, 6] in an array [n, S, slot actions], without a copy."""
        return slots[..., self.uses : self.uses + TEAM]

    def best(self, scores: Floats, legal: Bools) -> NDArray[np.int32]:
        """The legal action whose slots' scores [n, S, slot actions] have the highest sum; the first of equals."""
        if self.slots == 1:
            total = scores[:, 0]
        else:
            total = (scores[:, 0, :, None] + scores[:, 1, None, :]).reshape(len(scores), -1)
        return _best_of(total, legal[:, : self.joint])

    def best_preview(self, members: Floats, legal: Bools) -> NDArray[np.int32]:
        """The legal pick at team preview by scores of its members [n, 6]; those that do not lead count half."""
        assert self.picks is not None
        weights = np.where(np.arange(self.picks.shape[1]) < self.slots, 1.0, 0.5)
        total = (members[:, self.picks] * weights).sum(2)
        return _best_of(total, legal[:, self.joint :]) + np.int32(self.joint)

    def _pairs(self, legal: Bools) -> Bools:
        return legal[:, : self.joint].reshape(len(legal), self.slot_actions, self.slot_actions)


def some(flags: Bools, axis: int | tuple[int, ...]) -> Bools:
    """`any` along an axis, for a type checker that cannot see that an axis leaves an array."""
    return cast(Bools, flags.any(axis))


def _best_of(scores: Floats, legal: Bools) -> NDArray[np.int32]:
    best: Ints = np.where(legal, scores, np.float32(-np.inf)).argmax(1)
    return best.astype(np.int32)


# splitmix64's own step, and an odd number for matches: no two (match, number) share a state
STEP, MATCH_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)
MIX_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
MIX_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SPARE_BITS = np.uint64(64 - 53)  # of a draw, which a double cannot hold
MOST_DICE = 6  # numbers at a throw: one for each Pokemon of a team


class Dice:
    """Random numbers made of the seed, the match and what a row sees: splitmix64, whose state is their hash.

    They do not depend on which rows arrive together, so a list of scheduled matches is played the same on any machine.
    """

    def __init__(self, spec: GameSpec, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self._weights = generator.integers(0, 2**64, spec.obs.nbytes // 8, dtype=np.uint64) | np.uint64(1)
        salt = generator.integers(0, 2**64, dtype=np.uint64)
        self._steps = STEP * np.arange(1, MOST_DICE + 1, dtype=np.uint64) + salt

    def throw(self, arrivals: Arrivals, count: int) -> NDArray[np.float64]:
        """Uniform in [0, 1), [n, count]."""
        words = np.ascontiguousarray(arrivals.obs).view(np.uint64)
        seen: NDArray[np.uint64] = words.dot(self._weights)
        seen += arrivals.match.view(np.uint64) * MATCH_STEP
        numbered: NDArray[np.uint64] = seen[:, None] + self._steps[:count]
        numbered ^= numbered >> MIX_SHIFTS[0]
        numbered *= MIX_FACTORS[0]
        numbered ^= numbered >> MIX_SHIFTS[1]
        numbered *= MIX_FACTORS[1]
        numbered ^= numbered >> MIX_SHIFTS[2]
        numbered >>= SPARE_BITS
        return numbered.astype(np.float64) * 2.0**-53


def any_legal(legal: Bools, uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    """One legal action a row, all equally likely, picked by a uniform number [n]."""
    flat = legal.ravel().nonzero()[0]
    row_at = np.arange(0, legal.size + 1, legal.shape[1])
    first = flat.searchsorted(row_at)  # of each row's, among all that are legal
    row_at, first, counts = row_at[:-1], first[:-1], first[1:] - first[:-1]
    picked = (uniform * counts).astype(np.intp)  # below counts: 1 - 2**-53 times an integer is not rounded up to it
    taken: Ints = flat[first + picked] - row_at
    return taken.astype(np.int32)
