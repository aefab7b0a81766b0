"""Random numbers made of the seed, the match, the seat and the state of the field, and of nothing else.

They do not depend on which rows arrive together, so a list of scheduled matches is played the same on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.spec import GameSpec
from ludus.types import Arrivals

# splitmix64's own step, and an odd number for matches: with one field, no two (match, number) share a state
STEP, MATCH_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)
MIX_SHIFTS = np.uint64(30), np.uint64(27)
MIX_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
HALF, SPARE_BITS = np.uint64(32), np.uint64(64 - 24)  # of a draw; a float32 holds 24 bits
MOST_DICE = 6  # numbers at a throw: one for each Pokemon of a team
WORD = 8


class Dice:
    """splitmix64, whose state is a hash of the match, the seat and `field`: the turn, who must switch and how many are
    left. A hash of whole rows would take as long as all else a random policy does."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        field = next(leaf for leaf in spec.obs.leaves if leaf.name == "field")
        self._words = slice(field.offset // WORD, -(-(field.offset + field.nbytes) // WORD))
        generator = np.random.default_rng(seed)
        self._salts = generator.integers(0, 2**64, spec.seats, dtype=np.uint64)
        weights = generator.integers(0, 2**64, self._words.stop - self._words.start, dtype=np.uint64)
        self._weights = weights | np.uint64(1)
        self._seats = np.int32(spec.seats)
        self._steps = STEP * np.arange(1, MOST_DICE + 1, dtype=np.uint64)

    def throw(self, arrivals: Arrivals, count: int) -> NDArray[np.float32]:
        """Return `count` uniform numbers in [0, 1) per row: [n, count]."""
        numbers = _mixed(self._states(arrivals)[:, None] + self._steps[:count])
        return (numbers >> SPARE_BITS).astype(np.float32) * np.float32(2.0**-24)

    def any_legal(self, arrivals: Arrivals) -> NDArray[np.int32]:
        """Return one legal action per row, drawn uniformly."""
        legal = arrivals.legal
        flat = legal.ravel().nonzero()[0]
        row_at = np.arange(0, legal.size + 1, legal.shape[1])
        first = flat.searchsorted(row_at)  # of each row's, among all that are legal
        row_at, first, counts = row_at[:-1], first[:-1], first[1:] - first[:-1]
        index = _mixed(self._states(arrivals))
        index >>= HALF
        index *= counts.view(np.uint64)
        index >>= HALF  # so it is below counts
        action: NDArray[np.intp] = flat[first + index.view(np.intp)] - row_at
        return action.astype(np.int32)

    def _states(self, arrivals: Arrivals) -> NDArray[np.uint64]:
        states: NDArray[np.uint64] = arrivals.obs.view(np.uint64)[:, self._words].dot(self._weights)
        states += arrivals.match.view(np.uint64) * MATCH_STEP
        states += self._salts[arrivals.row % self._seats]
        return states


def _mixed(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """In place; splitmix64's last step, which leaves the 31 upper bits as they are, is left out."""
    states ^= states >> MIX_SHIFTS[0]
    states *= MIX_FACTORS[0]
    states ^= states >> MIX_SHIFTS[1]
    states *= MIX_FACTORS[1]
    return states
