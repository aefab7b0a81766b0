"""The payoff of a league: how often each member won, tied and lost against each other one, by side. Pure.

Members are in alphabetical order, and everything is a count, so the order of the matches does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PAIR_SCORES = np.arange(5) / 4  # mean score of the two matches of a pair: 0, 1/4, 1/2, 3/4 or 1

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Payoff:
    """Counts of matches. Row: the member on the first side. Column: the member on the second side."""

    names: tuple[str, ...]
    wins: Counts  # [n, n] matches that the first side won
    ties: Counts  # [n, n]
    losses: Counts  # [n, n] matches that the second side won
    # [n, n, 5] pairs of matches on one seed with sides swapped, by the sum of the two scores of member i (0 to 4
    # halves). Only i < j is used
    pairs: Counts

    @classmethod
    def of(
        cls, names: Iterable[str], first: Sequence[str], second: Sequence[str], score: Reals, seed: Counts
    ) -> Payoff:
        """Count matches. `score` is that of the first side; `seed` tells which two matches are a pair.

        A score above a half is a win, and one below is a loss. Every match must be between two different `names`.
        """
        ordered = tuple(sorted(set(names)))
        places = {name: place for place, name in enumerate(ordered)}
        one = np.fromiter(map(places.__getitem__, first), np.int64, len(first))
        other = np.fromiter(map(places.__getitem__, second), np.int64, len(second))
        outcome = 1 + np.sign(score - 0.5).astype(np.int64)  # 0 lost, 1 tied, 2 won
        n = len(ordered)
        cells = np.bincount((outcome * n + one) * n + other, minlength=3 * n * n).reshape(3, n, n)
        return cls(ordered, cells[2], cells[1], cells[0], _pairs(n, one, other, outcome, seed))

    @property
    def matches(self) -> Counts:
        """Return the number of matches by first and second side."""
        return self.wins + self.ties + self.losses

    @property
    def meetings(self) -> Counts:
        """Return the number of matches of each two members, whoever was on the first side."""
        matches = self.matches
        return matches + matches.T

    @property
    def scores(self) -> Reals:
        """Return the sum of the scores of the row's member against the column's, from both sides."""
        return self.wins + 0.5 * self.ties + (self.losses + 0.5 * self.ties).T

    def win_shares(self, expected: Reals, pseudo_matches: float = 10.0) -> Reals:
        """Return the share that each member wins against each other one, as a posterior mean.

        The prior is worth `pseudo_matches` matches with the `expected` share, so members that never met have that
        share exactly. Ties count half.
        """
        return (self.scores + pseudo_matches * expected) / (self.meetings + pseudo_matches)

    def by_side(self) -> Payoff:
        """Return the payoff with every member split in two: as first side and as second side."""
        n = len(self.names)
        names = tuple(f"{name} ({side})" for side in ("first", "second") for name in self.names)

        def split(counts: Counts) -> Counts:
            cells = np.zeros((2 * n, 2 * n), np.int64)
            cells[:n, n:] = counts
            return cells

        no_pairs = np.zeros((2 * n, 2 * n, 5), np.int64)
        return Payoff(names, split(self.wins), split(self.ties), split(self.losses), no_pairs)


def _pairs(n: int, one: Counts, other: Counts, outcome: Counts, seed: Counts) -> Counts:
    """Count pairs of matches with the same members and seed and swapped sides by their total score."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    swapped = one > other
    halves = np.where(swapped, 2 - outcome, outcome)  # the score of `low`, in halves
    order = np.lexsort((halves, swapped, seed, low * n + high))
    key, seeds, side, halves = (low * n + high)[order], seed[order], swapped[order], halves[order]
    ends = (key[1:] == key[:-1]) & (seeds[1:] == seeds[:-1]) & side[1:] & ~side[:-1]
    index = np.flatnonzero(ends)
    totals = halves[index] + halves[index + 1]
    return np.bincount(key[index] * 5 + totals, minlength=5 * n * n).reshape(n, n, 5)
