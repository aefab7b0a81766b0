"""Convert observation spaces to named leaves of a row, and write observations into rows.

A Dict or Tuple space gives one leaf per entry, named by its path: `player.position`, `0`, `1`. Numbers keep their dtype
if rows support it. Discrete spaces become one-hot vectors, which nets learn from more easily than from numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium.spaces as spaces
import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.environments.faults import EnvironmentFault
from ludus.spec import ObsSpec

ALONE = "obs"  # the leaf of a space that is neither Dict nor Tuple
MASK = "action_mask"  # the key of a Dict space that holds the action mask, not an observation
SEAT = "seat"  # the leaf with the seat's number, one-hot; added if the spaces of the seats differ
ONE_HOT_MOST = 4096  # choices of a one-hot leaf; a larger Discrete space becomes one number
ROW_BYTES_MOST = 1 << 20
_TYPES = {"float16": "float32", "float64": "float32", "bool": "uint8", "int64": "int32", "uint32": "int32"}

Write = Callable[[NDArray[Any], Any], None]  # Any: rows have several types, environments return what they like


@dataclass(frozen=True, slots=True)
class Part:
    """One leaf: its path in an observation, its dtype and shape in a row, and the function that writes it."""

    path: tuple[str | int, ...]
    dtype: str
    shape: tuple[int, ...]
    write: Write

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path)) or ALONE


def parts_of(space: spaces.Space[Any], where: str) -> tuple[Part, ...]:
    """Return the leaves of an observation space, without an action mask. Raises ConfigError, which names the
    environment by `where`, for a space that rows cannot hold."""
    parts = tuple(_parts(space, (), where))
    if not parts:
        raise ConfigError(f"{where}: its observation space {space} holds nothing")
    size = pack(parts).nbytes
    if size > ROW_BYTES_MOST:
        largest = max(parts, key=lambda part: math.prod(part.shape))
        raise ConfigError(
            f"{where}: an observation has {size:,} bytes, most of them in {largest.name!r} {list(largest.shape)}; "
            f"at most {ROW_BYTES_MOST:,} are played, so make it smaller with a wrapper"
        )
    return parts


def has_mask(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Dict) and MASK in space.spaces and len(space.spaces) > 1


def pack(parts: tuple[Part, ...]) -> ObsSpec:
    return ObsSpec.pack({part.name: (part.dtype, part.shape) for part in parts})


def packed_together(seats: Sequence[tuple[Part, ...]], where: str) -> ObsSpec:
    """Return one row layout that fits the observations of every seat. If the spaces of the seats differ, each leaf has
    the largest size among them, padded with zeros, and a further leaf holds the seat."""
    largest: dict[str, tuple[str, tuple[int, ...]]] = {}
    for part in (part for parts in seats for part in parts):
        dtype, shape = largest.setdefault(part.name, (part.dtype, part.shape))
        if dtype != part.dtype or len(shape) != len(part.shape):
            raise ConfigError(
                f"{where}: {part.name!r} is {dtype} {list(shape)} for one seat and {part.dtype} {list(part.shape)} for "
                "another; make them alike with a wrapper"
            )
        largest[part.name] = dtype, tuple(map(max, shape, part.shape))
    if len({tuple((part.name, part.shape) for part in parts) for parts in seats}) > 1:
        largest[SEAT] = "float32", (len(seats),)
    return ObsSpec.pack(largest)


class RowWriter:
    """Writes observations into its own rows, one per seat. Each write overwrites the seat's previous row."""

    def __init__(self, seats: Sequence[tuple[Part, ...]], spec: ObsSpec) -> None:
        self.rows = np.zeros((len(seats), spec.nbytes), np.uint8)
        leaves = spec.view(self.rows)
        if SEAT in leaves:
            leaves[SEAT][...] = np.eye(len(seats), dtype=np.float32)
        self._seats = [
            [(part, leaves[part.name][seat][tuple(map(slice, part.shape))]) for part in parts]
            for seat, parts in enumerate(seats)
        ]

    def write(self, seat: int, observation: Any) -> None:  # Any: whatever the environment returned
        """Write an observation into the row of a seat. Raises EnvironmentFault if it does not fit its space."""
        for part, view in self._seats[seat]:
            try:
                part.write(view, _value_at(observation, part) if part.path else observation)
            except EnvironmentFault as fault:
                raise EnvironmentFault(f"observation {part.name!r} {fault}") from None


def _value_at(observation: Any, part: Part) -> Any:  # Any: as above
    value = observation
    try:
        for key in part.path:
            value = value[key]
    except (KeyError, IndexError, TypeError) as error:
        raise EnvironmentFault(f"is missing ({type(error).__name__})") from None
    return value


def _parts(space: spaces.Space[Any], path: tuple[str | int, ...], where: str) -> list[Part]:
    match space:
        case spaces.Dict():
            inner: list[tuple[str | int, spaces.Space[Any]]] = list(space.spaces.items())
            if not path and has_mask(space):
                inner = [(key, one) for key, one in inner if key != MASK]
            return [part for key, one in inner for part in _parts(one, (*path, key), where)]
        case spaces.Tuple():
            return [part for key, one in enumerate(space.spaces) for part in _parts(one, (*path, key), where)]
        case spaces.Discrete() if int(space.n) <= ONE_HOT_MOST:
            return [Part(path, "float32", (int(space.n),), _one_hots((int(space.n),), (int(space.start),)))]
        case spaces.Discrete():
            return [Part(path, "int32", (1,), _numbers((1,)))]
        case spaces.MultiDiscrete() if sum(map(int, space.nvec.flat)) <= ONE_HOT_MOST:
            sizes = tuple(int(size) for size in space.nvec.flat)
            return [Part(path, "float32", (sum(sizes),), _one_hots(sizes, tuple(int(at) for at in space.start.flat)))]
        case spaces.MultiBinary():
            shape = tuple(int(size) for size in np.atleast_1d(space.n))
            return [Part(path, "uint8", shape, _numbers(shape))]
        case spaces.Box() | spaces.MultiDiscrete():
            dtype, shape = _dtype(space, where), tuple(space.shape)
            return [Part(path, dtype, shape, _floats(shape) if dtype == "float32" else _numbers(shape))]
    name = ".".join(map(str, path)) or "the observation"
    raise ConfigError(
        f"{where}: {name} is a {type(space).__name__}, which has no fixed size; "
        "Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple are played"
    )


def _dtype(space: spaces.Space[Any], where: str) -> str:
    name = str(np.dtype(space.dtype))
    if name == "uint64":
        raise ConfigError(f"{where}: observations of uint64 do not fit into rows; convert them with a wrapper")
    return _TYPES.get(name, name)


def _floats(shape: tuple[int, ...]) -> Write:
    def write(view: NDArray[Any], value: Any) -> None:  # Any: as above
        view[...] = _shaped(value, shape)  # finite values are checked later, once for all rows of a frame

    return write


def _numbers(shape: tuple[int, ...]) -> Write:
    def write(view: NDArray[Any], value: Any) -> None:  # Any: as above
        array = _shaped(value, shape) if shape != (1,) or np.ndim(value) else np.reshape(value, (1,))
        view[...] = array
        if array.dtype != view.dtype and not np.array_equal(view, array):
            raise EnvironmentFault(f"has values that {view.dtype} cannot hold")

    return write


def _one_hots(sizes: tuple[int, ...], starts: tuple[int, ...]) -> Write:
    offsets = tuple(int(sum(sizes[:index])) for index in range(len(sizes)))

    def write(view: NDArray[Any], values: Any) -> None:  # Any: as above
        choices = np.ravel(values)
        if len(choices) != len(sizes):
            raise EnvironmentFault(f"has {len(choices)} choices, its space says {len(sizes)}")
        view[...] = 0
        for size, start, offset, value in zip(sizes, starts, offsets, choices.tolist(), strict=True):
            place = value - start
            if not (isinstance(place, int) and 0 <= place < size):
                raise EnvironmentFault(f"is {value!r}, its space says {start} to {start + size - 1}")
            view[offset + place] = 1

    return write


def _shaped(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:  # Any: as above
    array = np.asarray(value)
    if array.shape != shape:
        raise EnvironmentFault(f"has shape {list(array.shape)}, its space says {list(shape)}")
    if array.dtype.kind not in "fiub":
        raise EnvironmentFault(f"is {type(value).__name__} of {array.dtype}, expected numbers")
    return array


def mask_in(observation: Any) -> Any:  # Any: whatever the environment returned
    """Return the action mask in an observation. Raises EnvironmentFault if there is none."""
    if not isinstance(observation, Mapping) or MASK not in observation:
        raise EnvironmentFault(f"the observation has no {MASK!r}, its space says it has")
    return observation[MASK]
