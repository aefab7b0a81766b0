"""The learner's record against each opponent of its training, and what it says about the next match. Pure.

The learner changes, so results count less the older they are: their weight halves every `half_life` updates. An
opponent that has not played for long is therefore uncertain again, and is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ludus.league.ratings import SCALE

Weighting = Literal["squared", "variance", "capped"]
Amount = Annotated[float, Meta(ge=0.0, le=1e15)]
Counted = Annotated[int, Meta(ge=0, le=10**15)]
PRIOR = 1.0  # matches won and matches lost before the first one: every win rate is as likely as any other
Reals = NDArray[np.float64]


class Record(Struct, frozen=True):
    """The learner's matches against one opponent. Ties count half as won and half as lost."""

    wins: Amount = 0.0  # weighted by age
    losses: Amount = 0.0
    version: Counted = 0  # the learner's, to which the weights refer
    matches: Counted = 0  # all of them, each counted once

    def at(self, version: int, half_life: float) -> Record:
        """Return the record with the weights that its matches have when the learner has this version."""
        if version <= self.version:
            return self
        weight = 0.5 ** ((version - self.version) / half_life)
        return Record(self.wins * weight, self.losses * weight, version, self.matches)

    def plus(self, score: float, version: int, half_life: float) -> Record:
        """Return the record after one more match, in which the learner had this score."""
        now = self.at(version, half_life)
        return Record(now.wins + score, now.losses + 1.0 - score, now.version, now.matches + 1)

    @property
    def win_rate(self) -> float:
        """Return the posterior mean of the learner's win rate."""
        return (PRIOR + self.wins) / (2 * PRIOR + self.wins + self.losses)

    @property
    def elo(self) -> tuple[float, float]:
        """Return the opponent's rating relative to the learner's, and its standard error, in Elo points."""
        wins, losses = PRIOR + self.wins, PRIOR + self.losses
        return float(SCALE * np.log(losses / wins)), SCALE * sqrt(1 / wins + 1 / losses)


Records = dict[str, Record]
NONE = Record()


def merged(records: Iterable[Mapping[str, Record]], half_life: float) -> Records:
    """Add up the records of several actors."""
    total: Records = {}
    for each in records:
        for name, record in each.items():
            before = total.get(name)
            total[name] = record if before is None else _sum(before, record, half_life)
    return total


def _sum(one: Record, other: Record, half_life: float) -> Record:
    version = max(one.version, other.version)
    a, b = one.at(version, half_life), other.at(version, half_life)
    return Record(a.wins + b.wins, a.losses + b.losses, version, a.matches + b.matches)


def drawn_win_rates(records: Iterable[Record], generator: np.random.Generator) -> Reals:
    """Draw a win rate from the posterior of each record."""
    each = list(records)
    wins, losses = np.array([record.wins for record in each]), np.array([record.losses for record in each])
    return np.asarray(generator.beta(PRIOR + wins, PRIOR + losses), np.float64)


def pfsp_weights(win_rates: Reals, weighting: Weighting) -> Reals:
    """Return the weight of each opponent in prioritised fictitious self-play (Vinyals et al. 2019).

    squared: (1 - p)^2, the opponents that win most. variance: p (1 - p), those of similar strength. capped:
    min(1/2, 1 - p), all that are not beaten yet.
    """
    if weighting == "squared":
        return np.asarray((1 - win_rates) ** 2)
    if weighting == "variance":
        return np.asarray(win_rates * (1 - win_rates))
    return np.asarray(np.minimum(0.5, 1 - win_rates))


def draw(weights: Reals, generator: np.random.Generator) -> int:
    """Return an index, drawn in proportion to the weights. If all are 0, each is as likely."""
    total = np.cumsum(np.maximum(weights, 0.0))
    if not total[-1] > 0:
        return int(generator.integers(len(weights)))
    return int(np.searchsorted(total, generator.random() * total[-1], side="right").clip(max=len(weights) - 1))
