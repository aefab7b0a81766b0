"""Checks the fields of a HELLO frame before memory is allocated for them. Pure. All functions raise ProtocolError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.limits import clipped
from ludus.spec import DTYPES, GameSpec, ObsSpec

_F4 = np.dtype("<f4")


def check_numbers(seats: int, actions: int, schema: int) -> None:
    """Raise ProtocolError unless all three numbers are within `limits`."""
    if seats < 1 or actions < 1:
        raise ProtocolError(
            f"HELLO says {seats} seats and {actions} actions; both must be at least 1", HostFault.BAD_HELLO
        )
    if seats > limits.SEATS or actions > limits.ACTIONS:
        allowed = f"allowed are {limits.SEATS:,} and {limits.ACTIONS:,}"
        raise ProtocolError(
            f"HELLO says {clipped(seats)} seats and {clipped(actions)} actions; {allowed}", HostFault.BAD_HELLO
        )
    if not 0 <= schema < limits.SCHEMA:
        raise ProtocolError(
            f"HELLO says schema {clipped(schema)}, expected 0 to {limits.SCHEMA - 1:,}", HostFault.BAD_HELLO
        )


def check_name(what: str, name: str) -> None:
    """Raise ProtocolError unless a name is short and printable. `what` has the name, for the message."""
    if len(name) > limits.NAME_CHARS or not name.isprintable():
        expected = f"at most {limits.NAME_CHARS} printable characters"
        raise ProtocolError(f"HELLO names {what} {clipped(name)!r}, expected {expected}", HostFault.BAD_HELLO)


def packed(obs: Sequence[tuple[str, str, list[int]]]) -> ObsSpec:
    """Return the layout of an observation with these leaves (name, dtype, shape)."""
    if len(obs) > limits.LEAVES:
        raise ProtocolError(
            f"HELLO has {len(obs):,} observation leaves, allowed are {limits.LEAVES:,}", HostFault.BAD_HELLO
        )
    leaves: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, dtype, shape in obs:
        check_name("an observation leaf", name)
        if name in leaves:
            raise ProtocolError("HELLO names an observation leaf twice", HostFault.BAD_HELLO)
        if dtype not in DTYPES:
            raise ProtocolError(
                f"leaf {name!r} has dtype {clipped(dtype)!r}; known are {', '.join(DTYPES)}", HostFault.BAD_HELLO
            )
        _check_shape(f"observation leaf {name!r}", shape, limits.ROW_BYTES)
        leaves[name] = dtype, tuple(shape)
    spec = ObsSpec.pack(leaves)
    if spec.nbytes > limits.ROW_BYTES:
        raise ProtocolError(
            f"HELLO describes a row of {spec.nbytes:,} bytes, allowed are {limits.ROW_BYTES:,}", HostFault.BAD_HELLO
        )
    return spec


def table(name: str, shape: list[int], data: bytes) -> NDArray[np.float32]:
    """Return the array of a table. Its values must be finite, and its bytes must fit the shape."""
    check_name("a table", name)
    _check_shape(f"table {name!r}", shape, limits.HELLO_BYTES)
    if prod(shape) * _F4.itemsize != len(data):
        raise ProtocolError(
            f"table {name!r} has {len(data)} bytes, expected shape {shape} of float32", HostFault.BAD_HELLO
        )
    values = np.frombuffer(data, _F4).reshape(shape)
    if not np.isfinite(values).all():
        raise ProtocolError(f"table {name!r} has values that are not finite", HostFault.BAD_HELLO)
    return values


def check_depth(what: str, value: object) -> None:
    """Raise ProtocolError for JSON that is nested so deeply that recursive functions would fail on it."""
    level: list[object] = [value]
    for _ in range(limits.LAYOUT_DEPTH + 1):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return
    raise ProtocolError(f"{what} is nested more than {limits.LAYOUT_DEPTH} levels deep", HostFault.UNREADABLE)


def check_size(spec: GameSpec, matches: int) -> None:
    """Raise ProtocolError if the rows of all matches need more memory than one host may use."""
    rows = matches * spec.seats
    if rows > limits.ROWS:
        rows_text = f"{matches:,} matches of {spec.seats:,} seats"
        raise ProtocolError(
            f"HELLO makes {rows_text} {rows:,} rows, allowed are {limits.ROWS:,}: play fewer at once",
            HostFault.BAD_HELLO,
        )
    size = rows * (spec.obs.nbytes + spec.actions)
    if size > limits.HOST_BYTES:
        rows_text = f"{rows:,} rows of {spec.obs.nbytes:,} bytes and {spec.actions:,} actions"
        allowed = f"{limits.HOST_BYTES >> 20:,} MiB are allowed: play fewer matches at once, or show less"
        raise ProtocolError(f"HELLO makes {rows_text} take {size >> 20:,} MiB, {allowed}", HostFault.BAD_HELLO)


def _check_shape(what: str, shape: Sequence[int], items: int) -> None:
    if len(shape) > limits.DIMENSIONS:
        raise ProtocolError(
            f"HELLO gives {what} {len(shape):,} dimensions, allowed are {limits.DIMENSIONS}", HostFault.BAD_HELLO
        )
    if any(size < 0 for size in shape):
        raise ProtocolError(f"HELLO gives {what} a negative size", HostFault.BAD_HELLO)
    if prod(max(size, 1) for size in shape) > items:
        raise ProtocolError(
            f"HELLO gives {what} the shape {clipped(shape)}, allowed are {items:,} items", HostFault.BAD_HELLO
        )


def _items(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
