"""Records the matches of a fleet for the ledger, and writes them as shards."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.data import match_ledger, rows
from ludus.data.dataset import Dataset
from ludus.data.live_rows import LiveRows, SeenDecisions
from ludus.data.manifest import RowsNote, ShardNote
from ludus.data.match_ledger import LedgerShard, Matches
from ludus.fleet.transcript import Transcript
from ludus.types import Arrivals, Ending

SHARD_DECISIONS = 1 << 16  # a shard is written when it holds as many decisions
SHARD_S = 30.0  # or when its oldest match has waited for this long; a killed process loses no more


@dataclass(frozen=True, slots=True)
class _Played:
    """A finished match that is not written yet."""

    ending: Ending
    policy: Sequence[int]  # of each seat
    actions: list[NDArray[np.int32]]  # of each seat
    reward: NDArray[np.float32]
    views: list[SeenDecisions]  # of each seat; empty unless rows are kept


class LedgerRecorder:
    """Collects finished matches and adds them to a dataset, a shard at a time.

    Pass endings to `end` before the rows that arrived with them to `choose`. Voided matches leave no trace but a count.
    """

    def __init__(
        self,
        dataset: Dataset,
        row_count: int,
        policies: Callable[[int], Sequence[int]],  # returns the policy of each seat of a match
        *,
        live: LiveRows | None = None,  # keeps the rows of matches that cannot be played again
        first_number: int = 0,  # added to the numbers of the matches, where the dataset has matches already
        ratings: Callable[[Ending], Sequence[float]] | None = None,  # returns the rating of each seat; NaN: not known
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._dataset, self._policies, self._clock_s = dataset, policies, clock_s
        self._first_number, self._ratings = first_number, ratings
        self._live = live
        self._transcript = Transcript(row_count)
        self._earned = np.zeros(row_count, np.float32)
        self._played: list[_Played] = []
        self._decisions = 0
        self._oldest_s = 0.0
        self._voided = dict(dataset.manifest.voided)

    @property
    def unwritten(self) -> int:
        """Return the number of finished matches that are in no shard yet."""
        return len(self._played)

    def choose(self, arrivals: Arrivals, action: NDArray[np.int32]) -> None:
        """Record the actions of these rows."""
        self._earned[arrivals.row] += arrivals.reward
        self._transcript.note(arrivals.row.astype(np.intp), action)
        if self._live is not None:
            self._live.choose(arrivals)

    def end(self, ending: Ending) -> None:
        """Keep a finished match for the next shard, or count a voided one."""
        span = slice(int(ending.rows[0]), int(ending.rows[-1]) + 1)
        views = [] if self._live is None else self._live.end(ending)
        if ending.void:
            self._voided[ending.void] = self._voided.get(ending.void, 0) + 1
        else:
            actions = [self._transcript.actions(row) for row in range(span.start, span.stop)]
            if not self._played:
                self._oldest_s = self._clock_s()
            reward = self._earned[span] + ending.reward
            self._played.append(_Played(ending, self._policies(ending.match), actions, reward, views))
            self._decisions += sum(len(each) for each in actions)
        self._transcript.forget(span)
        self._earned[span] = 0.0

    def write_due(self) -> None:
        """Write a shard if it is full or its matches have waited for long. Raises DatasetError, and keeps them."""
        if self._played and (self._decisions >= SHARD_DECISIONS or self._clock_s() - self._oldest_s >= SHARD_S):
            self.write()

    def write(self) -> None:
        """Write all finished matches. Raises DatasetError if the disk is full, and keeps them."""
        if self._played:
            content = self._shard()
            note = self._dataset.add(content, self._clock_s())
            if self._live is not None:
                self._write_rows(self._live, note, content)
            self._played, self._decisions = [], 0
        if self._voided != self._dataset.manifest.voided:
            self._dataset.update(voided=dict(self._voided))

    def _write_rows(self, live: LiveRows, note: ShardNote, content: LedgerShard) -> None:
        rows_of_shard = live.rows([each.views for each in self._played], content.action)
        file = rows.write(self._dataset.rows_path(note), rows_of_shard)
        self._dataset.set_rows(note, RowsNote(file, self._dataset.manifest.spec.fingerprint, note.matches))

    def _shard(self) -> LedgerShard:
        rating = None
        if self._ratings is not None:
            rating = np.array([self._ratings(each.ending) for each in self._played], np.float32)
        return _shard(self._played, self._first_number, rating)


def _shard(played: Sequence[_Played], first_number: int, rating: NDArray[np.float32] | None) -> LedgerShard:
    endings = [each.ending for each in played]
    facts = tuple(sorted({name for ending in endings for name in ending.facts}))
    logs = [ending.log.encode() for ending in endings]
    score = np.array([ending.score for ending in endings], np.float32)
    matches = Matches(
        number=np.array([first_number + ending.match for ending in endings], np.int64),
        seed=np.array([ending.seed for ending in endings], np.int64),
        policy=np.array([each.policy for each in played], np.uint16),
        count=np.array([[len(seat) for seat in each.actions] for each in played], np.int32),
        score=score,
        reward=np.array([each.reward for each in played], np.float32),
        rating=np.full_like(score, np.nan) if rating is None else rating,
        truncated=np.array([ending.truncated for ending in endings], np.bool_),
        facts=np.array([match_ledger.note(ending.facts, facts) for ending in endings], np.float32),
        log_bytes=np.array([len(log) for log in logs], np.int32),
    )
    action = np.concatenate([seat for each in played for seat in each.actions])
    return LedgerShard(matches, action, facts, b"".join(logs))
