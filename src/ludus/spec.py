"""What a game looks like from outside: named leaves packed into one row of bytes, and a flat action set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus import limits
from ludus.errors import ProtocolError

DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "fixed8", "fixed16", "float32")
# what stands for 1 in measures of fewer bytes than a float: an int8 says -2 to below 2, an int16 -8 to below 8
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
        """Whether it holds measures, which nets take as they are; else ids, flags and counts."""
        return self.dtype == "float32" or self.dtype in FIXED_ONE

    @property
    def unit(self) -> float:
        """By what its items are multiplied to be what they say."""
        return 1 / FIXED_ONE.get(self.dtype, 1)


@dataclass(frozen=True)
class ObsSpec:
    """The layout of one row. Build it with `ObsSpec.pack`, which assigns the offsets."""

    leaves: tuple[Leaf, ...]
    nbytes: int

    @classmethod
    def pack(cls, leaves: Mapping[str, tuple[str, tuple[int, ...]]]) -> ObsSpec:
        """Lay leaves out in the order given, each aligned to its item size, the row padded to 8 bytes."""
        packed, offset = [], 0
        for name, (dtype, shape) in leaves.items():
            if dtype not in DTYPES:
                raise ProtocolError(f"leaf {name!r} has dtype {dtype!r}; known are {', '.join(DTYPES)}")
            item = _storage_dtype(dtype).itemsize
            offset = _aligned(offset, item)
            packed.append(Leaf(name, dtype, tuple(shape), offset))
            offset += packed[-1].nbytes
        return cls(tuple(packed), max(_aligned(offset, ROW_ALIGNMENT), ROW_ALIGNMENT))

    def view(self, rows: NDArray[np.uint8]) -> dict[str, NDArray[np.generic]]:
        """The leaves of packed rows [..., nbytes] as arrays [..., *shape], without a copy, as they are stored."""
        if rows.shape[-1] != self.nbytes:
            raise ValueError(f"rows have {rows.shape[-1]} bytes, this spec says {self.nbytes}")
        return {leaf.name: self._leaf(rows, leaf) for leaf in self.leaves}

    def leaf(self, rows: NDArray[np.uint8], name: str) -> NDArray[np.generic]:
        """One leaf of packed rows, without a copy, as it is stored."""
        return self._leaf(rows, self._by_name[name])

    def reals(self, rows: NDArray[np.uint8], name: str) -> NDArray[np.float32]:
        """What a leaf of packed rows says, as floats; those of a float32 leaf without a copy."""
        leaf = self._by_name[name]
        values: NDArray[np.float32] = self._leaf(rows, leaf).astype(np.float32, copy=False)
        if leaf.unit != 1:
            values *= np.float32(leaf.unit)
        return values

    def write(self, rows: NDArray[np.uint8], name: str, values: ArrayLike) -> None:
        """Make a leaf of packed rows [..., nbytes] say these values; raises ValueError where its dtype cannot."""
        leaf = self._by_name[name]
        column = self._leaf(rows, leaf)
        if leaf.dtype not in FIXED_ONE:
            column[...] = values
            return
        multiples = np.rint(np.asarray(values, np.float64) / leaf.unit)
        limit = 1 << 8 * leaf.storage_dtype.itemsize - 1
        if not ((multiples >= -limit) & (multiples < limit)).all():  # as for what is not finite
            valid_range = f"{-limit * leaf.unit:g} to {(limit - 1) * leaf.unit:.4g}"
            raise ValueError(f"leaf {name!r} of {leaf.dtype} can say {valid_range}, not {values!r}")
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
    """What a host says of itself in its first frame."""

    name: str
    seats: int
    actions: int  # A: a flat discrete action set; games map theirs onto it
    obs: ObsSpec
    schema: int  # grows whenever the meaning of an observation or action changes; checkpoints carry it
    layout: Mapping[str, object] = field(default_factory=dict)  # the game's own constants, column names
    tables: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  # constant rows that id leaves index into

    @cached_property
    def teams(self) -> tuple[int, ...]:
        """[S] the team of each seat. One policy plays all seats of a team."""
        return teams_in(self.layout, self.seats)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two specs exactly when a policy made for one understands the other."""
        parts = [self.name, self.seats, self.actions, self.schema, self.obs, sorted(self.layout.items(), key=str)]
        digest = hashlib.sha256(repr(parts).encode())
        for name in sorted(self.tables):
            digest.update(name.encode() + np.ascontiguousarray(self.tables[name]).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def net_fingerprint(self) -> str:
        """Equal for two specs exactly when a net made for one can choose in the other: how many play, in which teams,
        and what that variant is called (after the / of the name) may differ."""
        layout = {name: value for name, value in self.layout.items() if name != "teams"}
        return replace(self, name=self.name.partition("/")[0], seats=0, layout=layout).fingerprint


def teams_in(layout: Mapping[str, object], seats: int) -> tuple[int, ...]:
    """The team of each seat as a game says it in `layout["teams"]`; each seat is one of its own where it does not."""
    entry = layout.get("teams")
    if entry is None:
        return tuple(range(seats))
    teams = tuple(entry) if isinstance(entry, list | tuple) else ()
    is_whole = len(teams) == seats and all(type(team) is int for team in teams)
    if not is_whole or sorted(set(teams)) != [*range(len(set(teams)))]:
        text = limits.clipped(entry)
        raise ProtocolError(f"layout.teams is {text}, expected a team for each of {seats} seats, counted from 0")
    return teams


def _storage_dtype(dtype: str) -> np.dtype[np.generic]:
    return np.dtype(dtype.replace("fixed", "int"))


def _aligned(offset: int, to: int) -> int:
    return (offset + to - 1) // to * to
