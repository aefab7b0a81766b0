"""Batches that are made of named columns: arrays whose first axis counts the same items.

A column is declared once, as a field of its batch, with its dtype and the axes of one item. Everything that treats all
columns alike (allocating, copying, selecting, saving) goes by the declaration and names no column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

Index = NDArray[np.integer[Any]] | NDArray[np.bool_] | slice
TIME = ("time", "seats_time")  # axes that count the decisions of a segment


@dataclass(frozen=True, slots=True)
class Column:
    """The declaration of one column. The size of each axis is known when a batch is allocated."""

    dtype: np.dtype[Any]
    axes: tuple[str, ...]  # of one item
    bits: bool = False  # saved with eight values a byte along the last axis
    late: bool = False  # set when a segment is complete, so an open segment has no value to save

    @property
    def timed(self) -> bool:
        """True if the column has a value for each decision, False if it has one for each segment."""
        return bool(self.axes) and self.axes[0] in TIME

    def shape(self, items: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Returns the shape of an array of this column, for axes of these sizes."""
        return (items, *(sizes[axis] for axis in self.axes))

    def pack(self, array: NDArray[Any]) -> NDArray[Any]:
        """Returns the array as it is saved."""
        return np.packbits(array, axis=-1, bitorder="little") if self.bits else array

    def unpack(self, array: NDArray[Any], sizes: Mapping[str, int]) -> NDArray[Any]:
        """Returns a saved array as it was before `pack`. `sizes` has the length of the last axis of packed columns."""
        if not self.bits:
            return array
        return np.unpackbits(array, axis=-1, count=sizes[self.axes[-1]], bitorder="little").view(np.bool_)


def column(dtype: DTypeLike, *axes: str, bits: bool = False, late: bool = False) -> Any:  # Any: a field of any type
    """Declares a field of a `Columns` dataclass; see `Column` for the arguments."""
    return field(metadata={"column": Column(np.dtype(dtype), axes, bits, late)})


class Columns:
    """Base of frozen dataclasses whose fields are all declared by `column`."""

    __slots__ = ()

    @classmethod
    def columns(cls) -> Mapping[str, Column]:
        """Returns the declared columns by name, in the order of declaration."""
        return _columns(cls)  # type: ignore[arg-type]  # a class is hashable, whatever its instances are

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays by the name of their column."""
        return {name: getattr(self, name) for name in self.columns()}

    def take(self, index: Index) -> Self:
        """Returns the items at `index`: views for a slice, copies otherwise."""
        return type(self)(**{name: array[index] for name, array in self.arrays().items()})

    def put(self, index: Index, items: Self) -> None:
        """Overwrites the items at `index`."""
        for name in self.columns():
            getattr(self, name)[index] = getattr(items, name)

    def put_from(self, at: int, source: Self, index: Index) -> None:
        """Copies the items of `source` at `index` to `at` and the places behind it."""
        for name in self.columns():
            items = getattr(source, name)[index]
            getattr(self, name)[at : at + len(items)] = items

    def empty_like(self, items: int) -> Self:
        """Returns a batch of so many uninitialised items with the same shapes and dtypes."""
        arrays = self.arrays().items()
        return type(self)(**{name: np.empty((items, *array.shape[1:]), array.dtype) for name, array in arrays})

    def pack(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays by name as they are saved."""
        return {name: column.pack(getattr(self, name)) for name, column in self.columns().items()}

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> Self:
        """Returns the batch that `pack` saved. Raises KeyError if a column is missing."""
        return cls(**{name: column.unpack(arrays[name], sizes) for name, column in cls.columns().items()})


@cache
def _columns(cls: Any) -> Mapping[str, Column]:
    return {each.name: each.metadata["column"] for each in fields(cls)}
