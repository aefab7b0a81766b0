"""Encodes and decodes the frames between fleet and host: protocol version 2, little-endian. Pure.

A frame is an 8-byte header (u16 magic, u8 version, u8 kind, u32 body bytes) and a body. docs/host-protocol.md describes
the bodies, and when each may be sent; `ledger` checks the latter. Decoders raise ProtocolError for malformed bodies.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.spec import GameSpec
from ludus.wire import described
from ludus.wire.durations import Durations

MAGIC = 0x554C  # "LU"
VERSION = 2
MAX_BODY = limits.BODY_BYTES
HEADER = struct.Struct("<HBBI")
HEADER_BYTES = HEADER.size
_COUNT = struct.Struct("<IB3x")
_ARRIVALS_HEAD = struct.Struct("<IBB2x")
_ACTIONS_HEAD = struct.Struct("<HBBIII")  # the frame's header included
_PAGE = 4096  # rooms of shared memory begin at multiples of it
HOST_ACTIVITIES = frozenset({"wait", "simulate", "encode", "mask", "send"})  # names allowed in TIMES
_I4, _U4, _F4, _U1 = np.dtype("<i4"), np.dtype("<u4"), np.dtype("<f4"), np.dtype("u1")

Bytes = bytes | bytearray | memoryview
Number = Annotated[int, Meta(ge=0, le=limits.MATCH_NUMBER)]  # of a match
Seed = Annotated[int, Meta(ge=0, le=limits.SEED)]
Place = Annotated[int, Meta(ge=-(2**31), lt=2**31)]  # a slot or a seat; the ledger checks the range
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


class Resumption(msgspec.Struct, frozen=True):
    """The matches with which a host continues, instead of match 0: those of an earlier process that was stopped."""

    open: list[int | None]  # for each slot, the number of its first match; None: the next number that is free
    following: int  # the smallest number that no match has had


class Configure(msgspec.Struct, frozen=True):
    """The first frame of the fleet: options and seed of the host."""

    matches: int
    options: dict[str, Any]  # Any: the game's own struct checks it
    seed: int  # < 2**53, so that JavaScript reads it exactly
    schedule: list[tuple[int, int]] | None = None  # (number, seed): play exactly these, in order
    keep_log: bool = False
    resume: Resumption | None = None  # not together with a schedule
    times_s: float | None = None  # seconds between TIMES frames; None: send none
    parts: int = 1  # number of frames in which to answer ACTIONS, if the host can; 1: all rows at once
    memory: int | None = None  # descriptor of shared memory for observations; ACTIONS names the room to write to
    events: bool = False  # whether the host may send EVENT frames
    protocol: int = VERSION


class TableBody(msgspec.Struct, frozen=True):
    shape: list[int]
    data: bytes  # float32; base64 in JSON


class Hello(msgspec.Struct, frozen=True):
    """The first frame of a host, its answer to CONFIGURE: the description of its game."""

    protocol: int
    name: str
    seats: int
    actions: int
    schema: int
    obs: list[tuple[str, str, list[int]]]
    layout: dict[str, Any] = {}  # Any: the game's own constants
    tables: dict[str, TableBody] = {}
    facts: dict[str, Any] = {}  # Any: for the log (versions, path of the simulator)
    memory: bool = False  # True if it writes observations to the shared memory that CONFIGURE offers
    drains: bool = False  # True if it understands DRAIN

    def spec(self) -> GameSpec:
        """Return the game that this frame describes. Raises ProtocolError if it is invalid or exceeds `limits`."""
        if self.protocol != VERSION:
            message = f"host speaks protocol {limits.clipped(self.protocol)}, this fleet speaks {VERSION}"
            raise ProtocolError(message, HostFault.BAD_HELLO)
        described.check_numbers(self.seats, self.actions, self.schema)
        described.check_name("its game", self.name)
        described.check_depth("layout of HELLO", self.layout)
        described.check_depth("facts of HELLO", self.facts)
        if len(self.tables) > limits.TABLES:
            raise ProtocolError(
                f"HELLO has {len(self.tables):,} tables, allowed are {limits.TABLES}", HostFault.BAD_HELLO
            )
        obs = described.packed(self.obs)
        tables = {name: described.table(name, table.shape, table.data) for name, table in self.tables.items()}
        spec = GameSpec(self.name, self.seats, self.actions, obs, self.schema, self.layout, tables)
        assert spec.teams  # raises ProtocolError for teams that make no sense
        return spec


class ArrivalsBody(NamedTuple):
    """The n rows of an ARRIVALS frame.

    Rows are local to the host: slot * seats + seat. `legal` is a bit mask: bit i of byte j is action 8j+i.
    """

    row: NDArray[np.int32]  # [n]
    match: NDArray[np.uint32]  # [n] match numbers
    reward: NDArray[np.float32]  # [n]
    opens: NDArray[np.uint8]  # [n] 1 at a row's first decision in a match, else 0; the ledger checks it
    legal: NDArray[np.uint8]  # [n, ceil(A/8)]
    obs: NDArray[np.uint8]  # [n, nbytes]
    done: bool  # True if this frame completes the answer to an ACTIONS frame (or the opening)

    @classmethod
    def empty(cls, actions: int, nbytes: int) -> ArrivalsBody:
        """Returns a complete body without rows, for a game with these sizes."""
        sizes = {"legal": (actions + 7) // 8, "obs": nbytes}
        columns = {name: np.empty((0, sizes[name]) if name in sizes else 0, kind) for name, kind in COLUMNS.items()}
        return cls(**columns, done=True)

    @classmethod
    def concatenate(cls, bodies: Sequence[ArrivalsBody]) -> ArrivalsBody:
        """Returns the rows of at least one body, in order, as one complete body."""
        return cls(**{name: np.concatenate([getattr(body, name) for body in bodies]) for name in COLUMNS}, done=True)

    def take(self, index: NDArray[np.bool_] | slice) -> ArrivalsBody:
        """Returns the rows at `index`; `done` stays."""
        return ArrivalsBody(**{name: array[index] for name, array in self.columns().items()}, done=self.done)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays by name. Any: columns of several types."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS: dict[str, np.dtype[Any]] = {"row": _I4, "match": _U4, "reward": _F4, "opens": _U1, "legal": _U1, "obs": _U1}


class EndingHead(msgspec.Struct, frozen=True):
    """The JSON part of an ENDING frame."""

    slot: Place
    number: Number
    score: list[float]
    reward: list[float]
    truncated: bool
    seed: Seed
    facts: dict[str, float] = {}
    log: Annotated[str, Meta(max_length=limits.LOG_CHARS)] = ""
    out: list[Place] = []  # seats that had finished before a match was truncated


_ENDINGS = msgspec.json.Decoder(EndingHead)  # made once, since ENDING frames are frequent
_EVENTS = msgspec.json.Decoder(dict[str, Any])  # Any: defined by the host


class ErrorBody(msgspec.Struct, frozen=True):
    """An ERROR frame: the host refuses its configuration, gives up one match, or has failed itself."""

    message: str
    kind: Literal["configuration", "match", "internal"]
    slot: Place | None = None  # of the match that is given up
    number: Number | None = None  # of that match
    again: bool = False  # True if the host will start this scheduled match once more


class TimesBody(msgspec.Struct, frozen=True):
    """How a host has spent its time since its last TIMES frame, or since it began its matches."""

    wall_ns: float
    # Keys are names in HOST_ACTIVITIES. Protocol version 2 calls this field `stages`.
    activities: dict[str, Durations] = msgspec.field(name="stages")


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
    return _frame(FrameKind.ARRIVALS, _COUNT.pack(len(row), done), *(_padded(column.tobytes()) for column in columns))


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
    column = _aligned(4 * n)
    if len(body) != 8 + 2 * column:
        raise ProtocolError(f"ACTIONS body has {len(body)} bytes, expected {8 + 2 * column} for {n} rows")
    return np.frombuffer(body, _I4, n, 8), np.frombuffer(body, _I4, n, 8 + column)


def encode_ending(head: EndingHead, final_obs: NDArray[np.uint8] | None = None) -> bytes:
    """Return an ENDING frame. `final_obs` [S, nbytes] is required for truncated matches, and not allowed for others."""
    if head.truncated != (final_obs is not None):
        raise ValueError("final_obs is required for truncated matches, and not allowed for others")
    text = msgspec.json.encode(head)
    tail = b"" if final_obs is None else np.ascontiguousarray(final_obs).tobytes()
    return _frame(FrameKind.ENDING, _COUNT.pack(len(text), 0), _padded(text), tail)


def decode_ending(body: Bytes, seats: int, nbytes: int) -> tuple[EndingHead, NDArray[np.uint8] | None]:
    if len(body) < 8:
        raise ProtocolError(f"ENDING body has {len(body)} bytes, expected at least 8", HostFault.BAD_ENDING)
    size, _ = _COUNT.unpack_from(body)
    obs_at = 8 + _aligned(size)
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


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _aligned(size: int) -> int:
    return (size + 7) & ~7
