"""Computes the pointer net's features from a few packed rows, for `PointerChooser`.

`FeatureColumns` computes the same features with PyTorch, for training. Here the real-valued leaves of a row are copied
to a float array in the order in which they are stored. Derived numbers follow them, and features are taken by column
index. To save operations, numbers keep their stored units, and moves are summed instead of averaged; the chooser
multiplies its weights by the factors in `scale` to make up for it. Axes as in `columns.py`; n rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.games.showdown.net.columns import FEATURES, MOVES, SIDE, FeatureColumns
from ludus.games.showdown.net.scratch import Scratch, Twin
from ludus.spec import GameSpec, Leaf

Places = NDArray[np.intp]


class Reading:
    """Column indices of all features in the float array of a row. They do not depend on the number of rows.

    A row has these columns: the real-valued leaves, boosts and volatiles (`live`), the maximum over the four moves, the
    sum over the four moves, and the constant 1 (column `one`).
    """

    def __init__(
        self, columns: FeatureColumns, spec: GameSpec, kinds: Sequence[str], first_names: NDArray[np.int32]
    ) -> None:
        self.spec, self.slots = spec, columns.slots
        self.kinds = kinds  # the leaves that hold a Pokemon's names
        self.names = first_names  # [names] the row of the table of names that belongs to id 0 of each name
        leaves = {leaf.name: leaf for leaf in spec.obs.leaves}
        at = self._place([leaf for leaf in spec.obs.leaves if leaf.name in (*columns.leaves, "field")])
        self.live = [(name, prod(leaves[name].shape)) for name in ("boosts", "volatiles")]
        self.pooled = columns.by_move.shape[1]
        measure_columns = [np.arange(at[name].start, at[name].stop) for name in columns.leaves]
        behind = sum(size for _, size in self.live) + 2 * self.pooled + 1  # the last column is always 1
        # column[i] is the column here of index i in `FeatureColumns`
        column = np.concatenate((*measure_columns, np.arange(behind) + self.measures))
        self.width, self.one = self.measures + behind, self.measures + behind - 1
        units = np.concatenate([np.full(prod(leaves[name].shape), leaves[name].unit) for name in columns.leaves])
        pooled = units[columns.by_move[0].numpy()]
        boosts, volatiles = (size for _, size in self.live)
        scale = np.concatenate((units, np.full(boosts, 1 / 6), np.ones(volatiles), pooled, pooled / MOVES, (1,)))
        self.by_move = column[columns.by_move.numpy()]
        self.state = column[columns.state.numpy()]
        self.own, self.foe = (self._with_one(column[places.numpy()]) for places in (columns.own, columns.foe))
        self.own_active, self.foe_active = column[columns.own_active.numpy()], column[columns.foe_active.numpy()]
        self.scale = {name: _one_row(scale[columns.get_buffer(name).numpy()]) for name in FEATURES}
        self.scale |= {name: torch.tensor(leaves[name].unit) for name in ("field", "matchup") if name in leaves}
        self.field = at["field"]
        self.hit = self._hits(at["matchup"].start, leaves["matchup"].shape) if "matchup" in leaves else None

    def _place(self, leaves: Sequence[Leaf]) -> dict[str, slice]:
        """Return the columns of each real-valued leaf. Sets `measures`, their number, and `spans`, the copies from
        packed rows: adjacent leaves of the same dtype are copied at once."""
        at: dict[str, slice] = {}
        self.measures = 0  # number of columns
        self.spans: list[tuple[np.dtype[np.generic], slice, slice]] = []  # dtype, bytes of a packed row, columns
        for leaf in leaves:
            begin, self.measures = self.measures, self.measures + prod(leaf.shape)
            at[leaf.name] = slice(begin, self.measures)
            source = slice(leaf.offset, leaf.offset + leaf.nbytes)
            if self.spans and self.spans[-1][0] == leaf.storage_dtype and self.spans[-1][1].stop == leaf.offset:
                _, earlier, to = self.spans.pop()
                source, begin = slice(earlier.start, source.stop), to.start
            self.spans.append((leaf.storage_dtype, source, slice(begin, self.measures)))
        return at

    def _with_one(self, places: Places) -> Places:
        """Append the column that is always 1; its weights are the embedding of the side."""
        return np.concatenate((places, np.full((SIDE, 1), self.one)), axis=1)

    def _hits(self, begin: int, shape: tuple[int, ...]) -> Places:
        """Return the columns of `matchup` for each slot, target (none, then each foe) and move [S, 1 + S, 4, columns].
        The entries for no target are placeholders: `Features.read` overwrites their numbers."""
        hit = (begin + np.arange(prod(shape))).reshape(shape)[: self.slots].transpose(0, 2, 1, 3)
        return np.concatenate((hit[:, :1], hit), axis=1)


def _one_row(scale: NDArray[np.float64]) -> Tensor:
    """Return the scale [columns] of a feature [..., columns], which must be the same along all other axes."""
    rows = scale.reshape(-1, scale.shape[-1])
    assert (rows == rows[0]).all()
    return torch.from_numpy(rows[0].astype(np.float32))


class Features:
    """The features of n rows, in buffers that every `read` overwrites: `own` and `foe` [n * 6, columns], `own_active`
    and `foe_active` [n * S, columns], `state` [n * S * 4, columns], `hit` (doubles) [n * S * (1 + S) * 4, columns],
    `field` [n, columns], `active_moves` [n, S, 4] and the table rows of names `ids`, split into Pokemon by `bags`."""

    def __init__(self, reading: Reading, memory: Scratch, rows: int) -> None:
        self._reading = reading
        n, S, pooled = rows, reading.slots, reading.pooled
        row = self._row = memory.of("row", n, n, reading.width).array
        row[:, reading.one] = 1
        self._bytes = np.zeros((n, reading.spec.obs.nbytes), np.uint8)
        leaves = reading.spec.obs.view(self._bytes)
        self._copied: list[tuple[NDArray[np.float32], NDArray[Any]]] = [  # Any: leaves of several types
            (row[:, to], self._bytes[:, source].view(dtype)) for dtype, source, to in reading.spans
        ]
        at = reading.measures
        for name, size in reading.live:
            self._copied.append((row[:, at : at + size], leaves[name].reshape(n, size)))
            at += size
        self._best, self._sum = row[:, at : at + pooled], row[:, at + pooled : at + 2 * pooled]
        self._by_move = memory.of("by_move", n, n, MOVES, pooled).array
        self.field = row[:, reading.field]
        self.active_moves = cast(NDArray[np.uint16], leaves["moves"])[:, :S]
        self._name(reading, leaves, n)
        self._feature_places: list[tuple[Places, NDArray[np.float32]]] = []
        self.own = self._take("own", reading.own, memory, n)
        self.foe = self._take("foe", reading.foe, memory, n)
        self.own_active = self._take("own_active", reading.own_active, memory, n)
        self.foe_active = self._take("foe_active", reading.foe_active, memory, n)
        self.state = self._take("state", reading.state, memory, n)
        self.hit: Twin | None = None
        if reading.hit is not None and S > 1:
            self.hit = self._take("hit", reading.hit, memory, n)
            hits = self.hit.array.reshape(n, *reading.hit.shape)
            self._spread, self._aimed = hits[:, :, 0], hits[:, :, 1:]

    def _take(self, name: str, places: Places, memory: Scratch, n: int) -> Twin:
        """Return the buffer of a feature, and let `read` fill it from these columns."""
        feature = memory.of(name, n, n * prod(places.shape[:-1]), places.shape[-1])
        self._feature_places.append((places.reshape(-1), feature.array.reshape(n, -1)))
        return feature

    def _name(self, reading: Reading, leaves: Mapping[str, NDArray[np.generic]], n: int) -> None:
        """Make the buffers of the names' table rows."""
        self._ids = np.zeros((2, n, SIDE, len(reading.names)), np.int32)  # own, foe
        self.ids: Tensor = torch.from_numpy(self._ids.reshape(-1))
        self.bags: Tensor = torch.arange(0, self._ids.size, len(reading.names), dtype=torch.int32)
        by_row = self._ids.transpose(1, 0, 2, 3)  # [n, 2, 6, names]
        self._name_ids: list[tuple[NDArray[Any], np.int32, NDArray[np.int32]]] = []  # Any: ids of several widths
        at = 0
        for kind in reading.kinds:
            leaf = leaves[kind].reshape(n, 2, SIDE, -1)
            self._name_ids.append((leaf, np.int32(reading.names[at]), by_row[..., at : at + leaf.shape[3]]))
            at += leaf.shape[3]

    def read(self, obs: NDArray[np.uint8]) -> None:
        """Compute the features of packed rows [n, nbytes]."""
        np.copyto(self._bytes, obs)
        for target, leaf in self._copied:
            np.copyto(target, leaf)
        row, by_move, best, total = self._row, self._by_move, self._best, self._sum
        row.take(self._reading.by_move, axis=1, out=by_move, mode="clip")
        np.maximum(by_move[:, 0], by_move[:, 1], out=best)
        np.add(by_move[:, 0], by_move[:, 1], out=total)
        for move in range(2, MOVES):  # faster than a reduction over so short an axis
            np.maximum(best, by_move[:, move], out=best)
            np.add(total, by_move[:, move], out=total)
        for places, features in self._feature_places:
            row.take(places, axis=1, out=features, mode="clip")
        if self.hit is not None:
            np.add.reduce(self._aimed, axis=2, out=self._spread)  # a move without a target may hit all foes
            np.multiply(self._spread, 1 / self._reading.slots, out=self._spread)
        for names, first, ids in self._name_ids:
            np.add(names, first, out=ids)
