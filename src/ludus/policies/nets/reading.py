"""The pointer net's features of a few packed rows, read where they lie.

`Columns` says the same of leaves and is what learning uses. Here a row's bytes are copied once, what has to be worked
out stands behind them in the same row, and features are taken by their places in it. Means over moves are left as sums
and boosts as they are: `scale` says by how much, for whoever makes weights ready. Axes as in `columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.nets.columns import MOVES, SIDE, Columns
from ludus.policies.nets.memory import Memory, Twin
from ludus.spec import GameSpec

KINDS = ("moves", "species", "item", "ability", "types")  # in the order of the names
SCALED = ("own", "foe", "own_active", "foe_active")
NAMES = MOVES + 6  # of a Pokemon: moves, species, item, ability, three types
Places = NDArray[np.intp]


class Reading:
    """Where things stand, for any number of rows."""

    def __init__(self, columns: Columns, spec: GameSpec, first_names: NDArray[np.int32]) -> None:
        self.spec, self.slots = spec, columns.slots
        self.names = first_names  # the row of the names' table that id 0 of each kind has [NAMES]
        self.floats = spec.obs.nbytes // 4
        shapes = {leaf.name: leaf for leaf in spec.obs.leaves}
        assert all(shapes[name].dtype == "float32" for name in (*columns.leaves, "field"))
        self.live = [(name, prod(shapes[name].shape)) for name in ("boosts", "volatiles")]
        self.pooled = columns.by_move.shape[1]
        said = [
            np.arange(shapes[name].nbytes // 4) + shapes[name].offset // 4 for name in columns.leaves
        ]  # the column in a row of each place in what `Columns` looks at
        behind = sum(size for _, size in self.live) + 2 * self.pooled + 1  # the last is always 1
        column = np.concatenate((*said, np.arange(behind) + self.floats))
        self.width, self.one = self.floats + behind, self.floats + behind - 1
        scale = np.ones(len(column), np.float32)
        boosts = sum(map(len, said))
        scale[boosts : boosts + self.live[0][1]] = 1 / 6
        scale[-1 - self.pooled : -1] = 1 / MOVES
        self.by_move = column[columns.by_move.numpy()]
        self.state = column[columns.state.numpy()]
        self.own, self.foe = (self._with_one(column[places.numpy()]) for places in (columns.own, columns.foe))
        self.own_active, self.foe_active = column[columns.own_active.numpy()], column[columns.foe_active.numpy()]
        self.scale = {name: torch.from_numpy(scale[columns.get_buffer(name)[0].numpy()]) for name in SCALED}
        field = shapes["field"]
        self.field = slice(field.offset // 4, (field.offset + field.nbytes) // 4)
        self.hit = self._hits(shapes["matchup"].offset // 4, shapes["matchup"].shape) if "matchup" in shapes else None

    def _with_one(self, places: Places) -> Places:
        """A last column that is always 1, for the vector of a side."""
        return np.concatenate((places, np.full((SIDE, 1), self.one)), axis=1)

    def _hits(self, begin: int, shape: tuple[int, ...]) -> Places:
        """What a slot's moves do to none, then to each foe [S, 1 + S, 4, columns]; that of none is written over."""
        hit = (begin + np.arange(prod(shape))).reshape(shape)[: self.slots].transpose(0, 2, 1, 3)
        return np.concatenate((hit[:, :1], hit), axis=1)


class Features:
    """Of n rows: views that every `read` fills anew."""

    def __init__(self, reading: Reading, memory: Memory, rows: int) -> None:
        self._reading = reading
        n, S, pooled = rows, reading.slots, reading.pooled
        row = self._row = memory.of("row", n, n, reading.width).array
        row[:, reading.one] = 1
        self._bytes = row.view(np.uint8)[:, : reading.spec.obs.nbytes]
        leaves = reading.spec.obs.view(self._bytes)
        at = reading.floats
        self._live = []
        for name, size in reading.live:
            self._live.append((row[:, at : at + size], leaves[name].reshape(n, size)))
            at += size
        self._best, self._sum = row[:, at : at + pooled], row[:, at + pooled : at + 2 * pooled]
        self._by_move = memory.of("by_move", n, n, MOVES, pooled).array
        self.field = row[:, reading.field]
        self.active_moves = cast(NDArray[np.uint16], leaves["moves"])[:, :S]
        self._name(reading, leaves, n)
        self._taken: list[tuple[Places, NDArray[np.float32]]] = []
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

    def _take(self, name: str, places: Places, memory: Memory, n: int) -> Twin:
        taken = memory.of(name, n, n * prod(places.shape[:-1]), places.shape[-1])
        self._taken.append((places.reshape(-1), taken.array.reshape(n, -1)))
        return taken

    def _name(self, reading: Reading, leaves: Mapping[str, NDArray[np.generic]], n: int) -> None:
        self._ids = np.zeros((2, n, SIDE, NAMES), np.int32)  # own, foe
        self.ids: Tensor = torch.from_numpy(self._ids.reshape(-1))
        self.bags: Tensor = torch.arange(0, self._ids.size, NAMES, dtype=torch.int32)
        by_row = self._ids.transpose(1, 0, 2, 3)  # [n, 2, 6, names]
        self._named: list[tuple[NDArray[Any], np.int32, NDArray[np.int32]]] = []  # Any: ids of several widths
        at = 0
        for kind in KINDS:
            leaf = leaves[kind].reshape(n, 2, SIDE, -1)
            self._named.append((leaf, np.int32(reading.names[at]), by_row[..., at : at + leaf.shape[3]]))
            at += leaf.shape[3]

    def read(self, obs: NDArray[np.uint8]) -> None:
        np.copyto(self._bytes, obs)
        for target, leaf in self._live:
            np.copyto(target, leaf)
        row, by_move, best, total = self._row, self._by_move, self._best, self._sum
        row.take(self._reading.by_move, axis=1, out=by_move, mode="clip")
        np.maximum(by_move[:, 0], by_move[:, 1], out=best)
        np.add(by_move[:, 0], by_move[:, 1], out=total)
        for move in range(2, MOVES):  # a reduction over so short an axis takes twice the time
            np.maximum(best, by_move[:, move], out=best)
            np.add(total, by_move[:, move], out=total)
        for places, features in self._taken:
            row.take(places, axis=1, out=features, mode="clip")
        if self.hit is not None:
            np.add.reduce(self._aimed, axis=2, out=self._spread)  # without a target a move may strike all foes
            np.multiply(self._spread, 1 / self._reading.slots, out=self._spread)
        for names, first, ids in self._named:
            np.add(names, first, out=ids)
