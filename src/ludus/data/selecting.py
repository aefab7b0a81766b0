"""Selects decisions of a ledger by who made them, how the match ended, and when. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import DataConfig
from ludus.data.manifest import PolicyNote, ShardNote
from ludus.data.match_ledger import Matches
from ludus.errors import ConfigError
from ludus.suggestions import did_you_mean

HASH = np.uint64(0x9E3779B97F4A7C15)  # splitmix64's: spreads seeds evenly


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of decisions. A seat of a match is selected with all its decisions, or not at all."""

    policies: tuple[int, ...] = ()  # places in the manifest's list; empty: all
    won: bool = False  # only seats that won
    min_rating: float = 0.0  # only seats with at least this rating; 0: also those without one
    newest: int = 0  # only so many latest matches; 0: all
    holdout: float = 0.0  # share of the seeds that is left out; with `held_out`, the only share that is not
    held_out: bool = False

    @classmethod
    def of(cls, config: DataConfig, policies: Sequence[PolicyNote], *, held_out: bool = False) -> Selection:
        """Return the selection that a run's settings describe. Raises ConfigError for an unknown policy."""
        names = [policy.name for policy in policies]
        for name in config.policies:
            if name not in names:
                raise ConfigError(f"data.policies: no policy {name!r} in {config.folder}; {did_you_mean(name, names)}")
        places = tuple(names.index(name) for name in config.policies)
        return cls(places, config.won, config.min_rating, config.newest, config.holdout, held_out)

    def seats(self, matches: Matches, later: int = 0) -> NDArray[np.bool_]:
        """Return which seats of these matches are selected [M, S]. `later` is the number of newer matches in the
        dataset."""
        mask = np.ones(matches.policy.shape, np.bool_)
        if self.policies:
            mask &= np.isin(matches.policy, self.policies)
        if self.won:
            mask &= matches.score > 0.5
        if self.min_rating:
            mask &= matches.rating >= self.min_rating  # False for NaN
        if self.newest:
            mask &= (np.arange(len(matches))[::-1] + later < self.newest)[:, None]
        if self.holdout:
            mask &= (is_held_out(matches.seed, self.holdout) == self.held_out)[:, None]
        return mask

    def over(self, shards: Sequence[ShardNote]) -> Iterator[tuple[ShardNote, int]]:
        """Yield shards with the number of matches that follow them, without those that are older than `newest`."""
        later = sum(shard.matches for shard in shards)
        for shard in shards:
            later -= shard.matches
            if not self.newest or later < self.newest:
                yield shard, later


def is_held_out(seed: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Return which seeds belong to the held-out share [M]. It is the same in every run and dataset."""
    place = (seed.astype(np.uint64) * HASH) >> np.uint64(11)
    return place.astype(np.float64) * 2.0**-53 < share
