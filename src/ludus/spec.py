"""Describes a game: named observation leaves, packed into one row of bytes, and a flat action set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError

DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "fixed8", "fixed16", "float32")
# units of the fixed-point types: fixed8 covers -2 to below 2, fixed16 covers -8 to below 8
FIXED_ONE = {"fixed8": 64, "fixed16": 4096}
ROW_ALIGNMENT = 8  # rows start at multiples of this, so that every leaf of every row is an aligned view


@dataclass(frozen=True, slots=True)
class Leaf:
    """One named array of an observation; `offset` is in bytes from the start of the row."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def storage_dtype(self) -> np.dtype[np.generic]:
        """Return the dtype of the leaf in a packed row; fixed-point leaves are stored as integers."""
        return _storage_dtype(self.dtype)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.storage_dtype.itemsize

    @property
    def is_real(self) -> bool:
        """Return True for real-valued leaves, which nets use as they are; False for ids, flags and counts."""
        return self.dtype == "float32" or self.dtype in FIXED_ONE

    @property
    def unit(self) -> float:
        """Return the factor that converts stored items to values."""
        return 1 / FIXED_ONE.get(self.dtype, 1)


@dataclass(frozen=True)
class ObsSpec:
    """The layout of one row. Build it with `ObsSpec.pack`, which assigns the offsets."""

    leaves: tuple[Leaf, ...]
    nbytes: int

    @classmethod
    def pack(cls, leaves: Mapping[str, tuple[str, tuple[int, ...]]]) -> ObsSpec:
        """Lay out leaves in order, each aligned to its item size, and pad the row to a multiple of 8 bytes."""
        packed, offset = [], 0
        for name, (dtype, shape) in leaves.items():
            if dtype not in DTYPES:
                raise ProtocolError(
                    f"leaf {name!r} has dtype {dtype!r}; known are {', '.join(DTYPES)}", HostFault.BAD_HELLO
                )
            item = _storage_dtype(dtype).itemsize
            offset = _aligned(offset, item)
            packed.append(Leaf(name, dtype, tuple(shape), offset))
            offset += packed[-1].nbytes
        return cls(tuple(packed), max(_aligned(offset, ROW_ALIGNMENT), ROW_ALIGNMENT))

    def view(self, rows: NDArray[np.uint8]) -> dict[str, NDArray[np.generic]]:
        """Return views [..., *shape] of the stored leaves of packed rows [..., nbytes]."""
        if rows.shape[-1] != self.nbytes:
            raise ValueError(f"rows have {rows.shape[-1]} bytes, this spec says {self.nbytes}")
        return {leaf.name: self._leaf(rows, leaf) for leaf in self.leaves}

    def leaf(self, rows: NDArray[np.uint8], name: str) -> NDArray[np.generic]:
        """Return a view of one stored leaf of packed rows."""
        return self._leaf(rows, self._by_name[name])

    def reals(self, rows: NDArray[np.uint8], name: str) -> NDArray[np.float32]:
        """Return the values of a leaf of packed rows as float32, without a copy for float32 leaves."""
        leaf = self._by_name[name]
        values: NDArray[np.float32] = self._leaf(rows, leaf).astype(np.float32, copy=False)
        if leaf.unit != 1:
            values *= np.float32(leaf.unit)
        return values

    def write(self, rows: NDArray[np.uint8], name: str, values: ArrayLike) -> None:
        """Write values into a leaf of packed rows [..., nbytes]. Raises ValueError if its dtype cannot hold them."""
        leaf = self._by_name[name]
        column = self._leaf(rows, leaf)
        if leaf.dtype not in FIXED_ONE:
            column[...] = values
            return
        multiples = np.rint(np.asarray(values, np.float64) / leaf.unit)
        limit = 1 << 8 * leaf.storage_dtype.itemsize - 1
        if not ((multiples >= -limit) & (multiples < limit)).all():  # also true for NaN and infinity
            valid_range = f"{-limit * leaf.unit:g} to {(limit - 1) * leaf.unit:.4g}"
            raise ValueError(f"leaf {name!r} of {leaf.dtype} can hold {valid_range}, not {values!r}")
        column[...] = multiples

    @cached_property
    def _by_name(self) -> dict[str, Leaf]:
        return {leaf.name: leaf for leaf in self.leaves}

    @staticmethod
    def _leaf(rows: NDArray[np.uint8], leaf: Leaf) -> NDArray[np.generic]:
        flat = rows[..., leaf.offset : leaf.offset + leaf.nbytes].view(leaf.storage_dtype)
        return flat.reshape((*rows.shape[:-1], *leaf.shape))


@dataclass(frozen=True)
class GameSpec:
    """The description of a game that a host sends in its first frame."""

    name: str
    seats: int
    actions: int  # A: size of the flat discrete action set
    obs: ObsSpec
    schema: int  # increases whenever the meaning of an observation or action changes; stored in checkpoints
    layout: Mapping[str, object] = field(default_factory=dict)  # the game's own constants, such as column names
    tables: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # constant rows that id leaves index into
    facts: Mapping[str, object] = field(default_factory=dict, compare=False)  # what the host says about itself

    @cached_property
    def teams(self) -> tuple[int, ...]:
        """Return the team of each seat [S]. One policy plays all seats of a team."""
        return teams_in(self.layout, self.seats)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash that is equal for two specs if and only if policies of one fit the other."""
        parts = [self.name, self.seats, self.actions, self.schema, self.obs, sorted(self.layout.items(), key=str)]
        digest = hashlib.sha256(repr(parts).encode())
        for name in sorted(self.tables):
            digest.update(name.encode() + np.ascontiguousarray(self.tables[name]).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def net_fingerprint(self) -> str:
        """Return a hash that is equal for two specs if and only if nets of one can play the other. Unlike in
        `fingerprint`, seats, teams and the variant (the part of the name after the slash) may differ."""
        layout = {name: value for name, value in self.layout.items() if name != "teams"}
        return replace(self, name=self.name.partition("/")[0], seats=0, layout=layout).fingerprint


def teams_in(layout: Mapping[str, object], seats: int) -> tuple[int, ...]:
    """Return the team of each seat from `layout["teams"]`. Without that entry, each seat is its own team."""
    entry = layout.get("teams")
    if entry is None:
        return tuple(range(seats))
    teams = tuple(entry) if isinstance(entry, list | tuple) else ()
    is_whole = len(teams) == seats and all(type(team) is int for team in teams)
    if not is_whole or sorted(set(teams)) != [*range(len(set(teams)))]:
        text = limits.clipped(entry)
        raise ProtocolError(
            f"layout.teams is {text}, expected a team for each of {seats} seats, counted from 0", HostFault.BAD_HELLO
        )
    return teams


def _storage_dtype(dtype: str) -> np.dtype[np.generic]:
    return np.dtype(dtype.replace("fixed", "int"))


def _aligned(offset: int, to: int) -> int:
    return (offset + to - 1) // to * to
