"""Encodes and decodes the frames between fleet and host: protocol version 2, little-endian. Pure.

A frame is an 8-byte header (u16 magic, u8 version, u8 kind, u32 body bytes) and a body. docs/host-protocol.md describes
the bodies, and when each may be sent; `ledger` checks the latter. Decoders raise ProtocolError for malformed bodies.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.spec import GameSpec
from ludus.wire import described
from ludus.wire.bodies import (
    HOST_ACTIVITIES,
    VERSION,
    ArrivalsBody,
    Configure,
    EndingHead,
    ErrorBody,
    Hello,
    TableBody,
    TimesBody,
)

MAGIC = 0x554C  # "LU"
MAX_BODY = limits.BODY_BYTES
HEADER = struct.Struct("<HBBI")
HEADER_BYTES = HEADER.size
_COUNT = struct.Struct("<IB3x")
_ARRIVALS_HEAD = struct.Struct("<IBB2x")
_ACTIONS_HEAD = struct.Struct("<HBBIII")  # the frame's header included
_PAGE = 4096  # rooms of shared memory begin at multiples of it
_I4, _U4, _F4, _U1 = np.dtype("<i4"), np.dtype("<u4"), np.dtype("<f4"), np.dtype("u1")

Bytes = bytes | bytearray | memoryview
# exceptions that decoding malformed bytes may raise, besides ProtocolError and those of msgspec
UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError)


class FrameKind(IntEnum):
    CONFIGURE = 1
    HELLO = 2
    ARRIVALS = 3
    ACTIONS = 4
    ENDING = 5
    ERROR = 6
    STOP = 7
    TIMES = 8
    DRAIN = 9
    EVENT = 10


MAX_BODIES = dict.fromkeys(FrameKind, MAX_BODY) | {
    FrameKind.HELLO: limits.HELLO_BYTES,
    FrameKind.ENDING: limits.ENDING_BYTES,
    FrameKind.ERROR: limits.ERROR_BYTES,
    FrameKind.TIMES: limits.TIMES_BYTES,
    FrameKind.EVENT: limits.EVENT_BYTES,
}


_ENDINGS = msgspec.json.Decoder(EndingHead)  # made once, since ENDING frames are frequent
_EVENTS = msgspec.json.Decoder(dict[str, Any])  # Any: defined by the host


def encode_configure(configure: Configure) -> bytes:
    return _frame(FrameKind.CONFIGURE, msgspec.json.encode(configure))


def decode_configure(body: Bytes) -> Configure:
    configure = _json(body, Configure, "CONFIGURE")
    if configure.protocol != VERSION:
        raise ProtocolError(f"the fleet speaks protocol {configure.protocol}, this host speaks {VERSION}")
    if configure.parts < 1:
        raise ProtocolError(f"CONFIGURE: parts is {configure.parts}, expected at least 1")
    resume = configure.resume
    if resume is not None and (configure.schedule is not None or len(resume.open) != configure.matches):
        raise ProtocolError("CONFIGURE: resume must name one match for each slot, and excludes a schedule")
    return configure


def encode_hello(spec: GameSpec, facts: Mapping[str, Any] | None = None, *, drains: bool = False) -> bytes:
    obs = [(leaf.name, leaf.dtype, list(leaf.shape)) for leaf in spec.obs.leaves]
    tables = {
        name: TableBody(list(table.shape), np.ascontiguousarray(table, np.float32).tobytes())
        for name, table in spec.tables.items()
    }
    layout, facts = dict(spec.layout), dict(facts or {})
    sizes = spec.seats, spec.actions, spec.schema
    hello = Hello(VERSION, spec.name, *sizes, obs, layout, tables, facts, drains=drains)
    return _frame(FrameKind.HELLO, msgspec.json.encode(hello))


def decode_hello(body: Bytes) -> Hello:
    return _json(body, Hello, "HELLO")


def encode_arrivals(
    row: NDArray[np.int32],
    match: NDArray[np.uint32],
    reward: NDArray[np.float32],
    opens: NDArray[np.bool_],
    legal: NDArray[np.bool_],
    obs: NDArray[np.uint8],
    done: bool,
) -> bytes:
    """Return an ARRIVALS frame. `legal` is one bool per action, [n, A]."""
    columns = (
        np.asarray(row, _I4),
        np.asarray(match, _U4),
        np.asarray(reward, _F4),
        np.asarray(opens, np.uint8),
        np.packbits(legal, axis=1, bitorder="little"),
        np.asarray(obs, np.uint8),
    )
    return _frame(FrameKind.ARRIVALS, _COUNT.pack(len(row), done), *(padded(column.tobytes()) for column in columns))


def decode_arrivals(
    body: Bytes, actions: int, nbytes: int, next_rows: Callable[[int], NDArray[np.uint8]] | None = None
) -> ArrivalsBody:
    """Return the rows of an ARRIVALS frame, as views of `body`, which must not be overwritten afterwards.

    If the host has written the n observations to shared memory, `next_rows(n)` must return them as [n, nbytes]. Raises
    ProtocolError for a malformed body, or if it refers to shared memory and `next_rows` is None.
    """
    if len(body) < 8:
        raise ProtocolError(f"ARRIVALS body has {len(body)} bytes, expected at least 8", HostFault.BAD_ARRIVALS)
    n, done, elsewhere = _ARRIVALS_HEAD.unpack_from(body)
    mask = (actions + 7) // 8
    four = (4 * n + 7) & ~7
    legal_at = 8 + 3 * four + ((n + 7) & ~7)
    obs_at = legal_at + ((n * mask + 7) & ~7)
    size = obs_at if elsewhere else obs_at + n * nbytes
    if len(body) != size:
        expected = f"{size} for {n} rows of {nbytes} bytes{' in memory' * elsewhere} and {actions} actions"
        raise ProtocolError(f"ARRIVALS body has {len(body)} bytes, expected {expected}", HostFault.BAD_ARRIVALS)
    if done > 1 or elsewhere > 1:
        raise ProtocolError(
            f"ARRIVALS has done={done} and elsewhere={elsewhere}, expected 0 or 1", HostFault.BAD_ARRIVALS
        )
    if elsewhere and next_rows is None:
        raise ProtocolError(
            "ARRIVALS has its rows in shared memory, but the host was given none", HostFault.BAD_ARRIVALS
        )
    return ArrivalsBody(
        np.ndarray((n,), _I4, body, 8),
        np.ndarray((n,), _U4, body, 8 + four),
        np.ndarray((n,), _F4, body, 8 + 2 * four),
        np.ndarray((n,), _U1, body, 8 + 3 * four),
        np.ndarray((n, mask), _U1, body, legal_at),
        next_rows(n) if elsewhere and next_rows is not None else np.ndarray((n, nbytes), _U1, body, obs_at),
        bool(done),
    )


def room_bytes(rows: int, nbytes: int) -> int:
    """Return the distance in bytes between the rooms in shared memory of a host with this many rows."""
    return -(-rows * nbytes // _PAGE) * _PAGE


def encode_actions(row: NDArray[np.int32], action: NDArray[np.int32], room: int = 0) -> bytes:
    """Return an ACTIONS frame. `room` is the place in shared memory for the rows of the answer; 0 means none."""
    rows, actions = np.asarray(row, _I4).tobytes(), np.asarray(action, _I4).tobytes()
    pad = bytes(-len(rows) % 8)
    size = 8 + 2 * (len(rows) + len(pad))
    head = _ACTIONS_HEAD.pack(MAGIC, VERSION, FrameKind.ACTIONS, size, len(row), room)
    return b"".join((head, rows, pad, actions, pad))


def decode_actions(body: Bytes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (row, action) as views of the body. Raises ProtocolError."""
    if len(body) < 8:
        raise ProtocolError(f"ACTIONS body has {len(body)} bytes, expected at least 8")
    n, _ = _COUNT.unpack_from(body)
    column = aligned(4 * n)
    if len(body) != 8 + 2 * column:
        raise ProtocolError(f"ACTIONS body has {len(body)} bytes, expected {8 + 2 * column} for {n} rows")
    return np.frombuffer(body, _I4, n, 8), np.frombuffer(body, _I4, n, 8 + column)


def encode_ending(head: EndingHead, final_obs: NDArray[np.uint8] | None = None) -> bytes:
    """Return an ENDING frame. `final_obs` [S, nbytes] is required for truncated matches, and not allowed for others."""
    if head.truncated != (final_obs is not None):
        raise ValueError("final_obs is required for truncated matches, and not allowed for others")
    text = msgspec.json.encode(head)
    tail = b"" if final_obs is None else np.ascontiguousarray(final_obs).tobytes()
    return _frame(FrameKind.ENDING, _COUNT.pack(len(text), 0), padded(text), tail)


def decode_ending(body: Bytes, seats: int, nbytes: int) -> tuple[EndingHead, NDArray[np.uint8] | None]:
    if len(body) < 8:
        raise ProtocolError(f"ENDING body has {len(body)} bytes, expected at least 8", HostFault.BAD_ENDING)
    size, _ = _COUNT.unpack_from(body)
    obs_at = 8 + aligned(size)
    if len(body) < obs_at:
        raise ProtocolError(f"ENDING body has {len(body)} bytes, expected at least {obs_at}", HostFault.BAD_ENDING)
    head = _json(memoryview(body)[8 : 8 + size], _ENDINGS, "ENDING")
    if len(head.score) != seats or len(head.reward) != seats:
        message = f"ENDING has {len(head.score)} scores and {len(head.reward)} rewards, expected {seats} each"
        raise ProtocolError(message, HostFault.BAD_ENDING)
    expected = obs_at + (seats * nbytes if head.truncated else 0)
    if len(body) != expected:
        raise ProtocolError(
            f"ENDING body has {len(body)} bytes, expected {expected} (truncated={head.truncated})", HostFault.BAD_ENDING
        )
    final_obs = np.frombuffer(body, np.uint8, seats * nbytes, obs_at) if head.truncated else None
    return head, None if final_obs is None else final_obs.reshape(seats, nbytes)


def encode_error(error: ErrorBody) -> bytes:
    return _frame(FrameKind.ERROR, msgspec.json.encode(error))


def decode_error(body: Bytes) -> ErrorBody:
    return _json(body, ErrorBody, "ERROR")


def encode_times(times: TimesBody) -> bytes:
    return _frame(FrameKind.TIMES, msgspec.json.encode(times))


def decode_times(body: Bytes) -> TimesBody:
    times = _json(body, TimesBody, "TIMES")
    if not times.activities.keys() <= HOST_ACTIVITIES:
        unknown = limits.clipped(min(times.activities.keys() - HOST_ACTIVITIES))
        raise ProtocolError(
            f"TIMES names the activity {unknown!r}, known are {', '.join(sorted(HOST_ACTIVITIES))}", HostFault.BAD_TIMES
        )
    for name, durations in times.activities.items():
        durations.check(name)
    if not 0 < times.wall_ns <= limits.TIMES_NS:
        message = f"TIMES has wall_ns {times.wall_ns:g}, expected more than 0 and at most {limits.TIMES_NS:g}"
        raise ProtocolError(message, HostFault.BAD_TIMES)
    return times


def encode_event(event: Mapping[str, Any]) -> bytes:  # Any: anything JSON holds
    """Return an EVENT frame. Raises ProtocolError for an event beyond `limits.EVENT_BYTES`."""
    return _frame(FrameKind.EVENT, msgspec.json.encode(event))


def decode_event(body: Bytes) -> dict[str, Any]:
    """Return the JSON object of an EVENT frame. Any: its contents are defined by the host."""
    event = _json(body, _EVENTS, "EVENT")
    described.check_depth("EVENT", event)
    return event


def encode_drain() -> bytes:
    return _frame(FrameKind.DRAIN)


def encode_stop() -> bytes:
    return _frame(FrameKind.STOP)


T = TypeVar("T")


def _json(body: Bytes, kind: type[T] | msgspec.json.Decoder[T], name: str) -> T:
    try:
        return kind.decode(body) if isinstance(kind, msgspec.json.Decoder) else msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, *UNREADABLE) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else limits.clipped(error)
        raise ProtocolError(f"{name} cannot be decoded: {why}", HostFault.UNREADABLE) from error


def _frame(kind: FrameKind, *parts: bytes) -> bytes:
    size = sum(map(len, parts))
    if size > MAX_BODIES[kind]:
        raise ProtocolError(f"{kind.name} frame would have {size} bytes, allowed are {MAX_BODIES[kind]}")
    return b"".join((HEADER.pack(MAGIC, VERSION, kind, size), *parts))


def padded(data: bytes) -> bytes:
    """Return the data with zeros up to a multiple of 8 bytes."""
    return data + bytes(-len(data) % 8)


def aligned(size: int) -> int:
    """Return the size of `size` bytes after `padded`."""
    return (size + 7) & ~7
