"""Measures how often a policy chooses the recorded action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.data.dataset import Dataset
from ludus.data.match_ledger import LedgerShard
from ludus.data.rows import Rows
from ludus.data.selecting import Selection
from ludus.spec import GameSpec
from ludus.types import Arrivals, Policy

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of recorded actions that a policy chooses, too."""

    decisions: int  # compared
    same: int  # of them, decisions with the same action
    settled: int  # of them, decisions in which every copy of the reference chooses the same action
    settled_same: int  # of those, decisions with the same action

    @property
    def share(self) -> float:
        return self.same / max(self.decisions, 1)

    @property
    def settled_share(self) -> float:
        """The share where the recorded policy has no choice between equals; needs a reference."""
        return self.settled_same / max(self.settled, 1)


def agreement(
    dataset: Dataset,
    spec: GameSpec,
    selection: Selection,
    policy: Policy,
    *,
    reference: Sequence[Policy] = (),
    most: int = 0,
    progress: Callable[[int], None] = lambda decisions: None,
) -> Agreement:
    """Compare `policy` with the recorded actions of the selected decisions, at most about `most` of them (0: all).

    `reference` are copies of the recorded policy with different seeds: a decision is settled if all of them choose the
    same action. Policies see whole matches, one decision of each at a time, so recurrent ones can be compared, too.
    """
    counts = np.zeros(4, np.int64)
    later_of = {shard.name: later for shard, later in selection.over(dataset.shards)}
    for shard, content in dataset.undamaged():
        mapped = dataset.undamaged_rows(shard, spec, spec.fingerprint) if shard.name in later_of else None
        if mapped is None:
            continue
        seats = selection.seats(content.matches, later_of[shard.name])
        for arrivals, action in _steps(content, mapped, seats, spec):
            same = policy.act(arrivals).action == action
            choices = [each.act(arrivals).action for each in reference]
            settled = np.ones(len(same), np.bool_)
            for other in choices:
                settled &= other == choices[0]
            counts += (len(same), int(same.sum()), int(settled.sum()), int((same & settled).sum()))
        progress(int(counts[0]))
        if most and counts[0] >= most:
            break
    return Agreement(*counts.tolist())


def _steps(
    content: LedgerShard, mapped: Rows, seats: Bools, spec: GameSpec
) -> Iterator[tuple[Arrivals, NDArray[np.int32]]]:
    """Yield decision 0 of all selected seats of all matches, then decision 1, and so on, with the recorded actions."""
    count = content.matches.count[mapped.match].ravel()
    first = np.cumsum(count, dtype=np.int64) - count
    lines = seats[mapped.match].ravel()
    number = np.repeat(content.matches.number[mapped.match], spec.seats)
    for step in range(int(count[lines].max(initial=0))):
        row = np.flatnonzero(lines & (count > step))
        place = first[row] + step
        legal = np.unpackbits(mapped.legal[place], axis=1, count=spec.actions, bitorder="little").view(np.bool_)
        reward = np.zeros(len(row), np.float32) if step == 0 else mapped.reward[place - 1]
        arrivals = Arrivals(
            row.astype(np.int32), number[row], mapped.obs[place], legal, reward, np.full(len(row), step == 0)
        )
        yield arrivals, mapped.action[place]
