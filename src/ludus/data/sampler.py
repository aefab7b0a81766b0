"""Draws shuffled segments from the rows of a dataset. The same seed gives the same batches, also after a resume."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ludus.data import rows
from ludus.data.dataset import Dataset
from ludus.data.dataset import verify as verify_file
from ludus.data.manifest import ShardNote
from ludus.data.match_ledger import LedgerShard
from ludus.data.rows import Floats, Rows
from ludus.data.selecting import Selection
from ludus.errors import DatasetError
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

OPEN_SHARDS = 16  # shards whose segments are shuffled with each other, and whose files are mapped at the same time
log = logging.getLogger(__name__)


class SamplerState(Struct, frozen=True):
    """The position of a sampler: with the seed and the dataset, it determines all following batches."""

    epoch: int = 0
    batch: int = 0  # batches batches in this epoch


@dataclass(frozen=True, slots=True)
class _Source:
    """The selected segments of one shard."""

    shard: ShardNote
    start: NDArray[np.int64]  # [n, T] places of the decisions of each segment in the file of rows


@dataclass(frozen=True, slots=True)
class _Mapped:
    """An open file of rows."""

    rows: Rows
    returns: Floats  # [N]


Part = tuple[int, NDArray[np.int64]]  # shard of the sampler, places [b, T] of the decisions of its segments


class SegmentSampler:
    """Draws batches of `segments` segments of `length` decisions, every selected segment once in an epoch.

    An epoch goes through the shards in random order, `OPEN_SHARDS` at a time, and shuffles the segments of those. What
    is left of an epoch, less than one batch, is left out. A damaged shard is left out with a warning.
    """

    def __init__(
        self,
        dataset: Dataset,
        spec: GameSpec,
        selection: Selection,
        *,
        segments: int,
        length: int = 1,
        gamma: float = 1.0,
        seed: int = 0,
        state: SamplerState | None = None,
        verify: bool = True,
    ) -> None:
        self._dataset, self._spec, self._gamma, self._seed = dataset, spec, gamma, seed
        self._segments, self._length = segments, length
        self._sources = list(self._find(selection, verify))
        self._mapped: OrderedDict[int, _Mapped] = OrderedDict()
        self.state = SamplerState() if state is None else state
        if self.available < segments:
            raise DatasetError(
                f"{dataset.folder}: {self.available * length:,} decisions are selected, fewer than one batch of "
                f"{segments * length:,}; record more matches, select more, or lower learner.decisions"
            )
        self._batches = self._epoch(self.state)

    @property
    def available(self) -> int:
        """Return the number of selected segments."""
        return sum(len(source.start) for source in self._sources)

    def next(self, batch: SegmentBatch) -> None:
        """Fill a batch with the next segments."""
        parts = next(self._batches, None)
        if parts is None:
            self.state = SamplerState(self.state.epoch + 1)
            self._batches = self._epoch(self.state)
            parts = next(self._batches)
        begin = 0
        for index, places in parts:
            self._copy(batch, slice(begin, begin + len(places)), index, places)
            begin += len(places)
        self.state = SamplerState(self.state.epoch, self.state.batch + 1)

    def _find(self, selection: Selection, verify: bool) -> Iterator[_Source]:
        for shard, later in selection.over(self._dataset.shards):
            if shard.rows is None or shard.rows.fingerprint != self._spec.fingerprint:
                continue
            try:
                content = self._dataset.ledger(shard)
                if verify:
                    verify_file(self._dataset.rows_path(shard), shard.rows.file)
                mapped = self._map(shard)
            except DatasetError as error:
                log.warning("%s; training goes on without this shard", error)
                continue
            yield _Source(shard, self._starts(content, mapped, selection.seats(content.matches, later)))

    def _starts(self, content: LedgerShard, mapped: Rows, seats: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the places of the decisions of all segments [n, T]: the selected decisions, T at a time."""
        count = content.matches.count[mapped.match]
        if int(count.sum()) != mapped.decisions:
            raise DatasetError(f"{self._dataset.folder}: rows and ledger disagree about the number of decisions")
        places = np.flatnonzero(np.repeat(seats[mapped.match].ravel(), count.ravel()))
        whole = len(places) // self._length * self._length
        return places[:whole].reshape(-1, self._length)

    def _epoch(self, state: SamplerState) -> Iterator[list[Part]]:
        """Yield the batches of an epoch from `state.batch` on, as places in shards."""
        random = np.random.default_rng([self._seed, state.epoch])
        order = random.permutation(len(self._sources))
        waiting_source = np.empty(0, np.int64)
        waiting_segment = np.empty(0, np.int64)
        batches = 0
        for first in range(0, len(order), OPEN_SHARDS):
            opened = order[first : first + OPEN_SHARDS].tolist()
            sizes = [len(self._sources[index].start) for index in opened]
            source = np.concatenate([waiting_source, np.repeat(opened, sizes)])
            segment = np.concatenate([waiting_segment, *(np.arange(size) for size in sizes)])
            shuffled = random.permutation(len(source))
            whole = len(shuffled) // self._segments * self._segments
            for begin in range(0, whole, self._segments):
                if batches >= state.batch:
                    index = shuffled[begin : begin + self._segments]
                    yield self._parts(source[index], segment[index])
                batches += 1
            waiting_source, waiting_segment = source[shuffled[whole:]], segment[shuffled[whole:]]

    def _parts(self, source: NDArray[np.int64], segment: NDArray[np.int64]) -> list[Part]:
        """Group the segments of a batch by shard."""
        by_source = np.argsort(source, kind="stable")
        sources, first = np.unique(source[by_source], return_index=True)
        groups = np.split(segment[by_source], first[1:])
        return [
            (index, self._sources[index].start[group]) for index, group in zip(sources.tolist(), groups, strict=True)
        ]

    def _copy(self, batch: SegmentBatch, at: slice, index: int, places: NDArray[np.int64]) -> None:
        mapped = self._open(index)
        content, flat = mapped.rows, places.ravel()
        obs = batch.obs[at].reshape(len(flat), -1)
        np.take(content.obs, flat, axis=0, out=obs, mode="clip")
        bits = np.take(content.legal, flat, axis=0)
        batch.legal[at].reshape(len(flat), -1).view(np.uint8)[:] = np.unpackbits(
            bits, axis=1, count=self._spec.actions, bitorder="little"
        )
        batch.action[at] = content.action[places]
        batch.reward[at] = content.reward[places]
        batch.ends[at] = content.ends[places]
        batch.opens[at] = content.opens[places]
        last = places[:, -1]
        following = np.minimum(last + 1, content.decisions - 1)
        batch.next_value[at] = np.where(content.ends[last], 0.0, mapped.returns[following])

    def _open(self, index: int) -> _Mapped:
        """Return the file of a shard, and close the one that was used least recently if too many are open."""
        mapped = self._mapped.pop(index, None)
        if mapped is None:
            content = self._map(self._sources[index].shard)
            mapped = _Mapped(content, rows.returns(content, self._gamma))
        self._mapped[index] = mapped
        while len(self._mapped) > 2 * OPEN_SHARDS:
            self._mapped.popitem(last=False)
        return mapped

    def _map(self, shard: ShardNote) -> Rows:
        path = self._dataset.rows_path(shard)
        return rows.read(path, row_bytes=self._spec.obs.nbytes, actions=self._spec.actions)
