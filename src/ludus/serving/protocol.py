"""Encodes and decodes the frames between a policy server and its clients: version 1, little-endian. Pure.

A frame has the 8-byte header of the host protocol (`wire/stream.py`) and a body. docs/serving.md describes every byte.
Decoders raise ProtocolError for malformed bodies.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import ProtocolError
from ludus.wire.frames import HEADER, UNREADABLE, Bytes, aligned, padded
from ludus.wire.stream import FrameFormat, FrameSplitter

MAGIC = 0x534C  # "LS"
VERSION = 1  # of this protocol
_COUNTS = struct.Struct("<II")  # rows, batch number
_VERSION = struct.Struct("<Q")  # of the weights
_U4, _I4, _F4, _U1 = np.dtype("<u4"), np.dtype("<i4"), np.dtype("<f4"), np.dtype("u1")


class Kind(IntEnum):
    HELLO = 1  # client: who I am, which policy I want
    WELCOME = 2  # server: the policy and its game
    ASK = 3  # client: rows that need an action
    ANSWER = 4  # server: their actions
    REFUSED = 5  # server: why one ASK, or the whole connection, was refused
    STATUS = 6  # client: how are you
    REPORT = 7  # server: numbers
    BYE = 8  # client: I leave; free my rows


MAX_BODIES = {
    Kind.HELLO: limits.GREETING_BYTES,
    Kind.WELCOME: limits.WELCOME_BYTES,
    Kind.ASK: limits.BODY_BYTES,
    Kind.ANSWER: limits.BODY_BYTES,
    Kind.REFUSED: limits.REFUSED_BYTES,
    Kind.STATUS: 0,
    Kind.REPORT: limits.REPORT_BYTES,
    Kind.BYE: 0,
}
FRAMES = FrameFormat.of(MAGIC, VERSION, MAX_BODIES)
GREETING = dict.fromkeys(map(int, Kind), 0) | {int(Kind.HELLO): limits.GREETING_BYTES}  # sizes before a WELCOME


class Code(StrEnum):
    """The reason for a refusal. Programs read the code; the message is for people."""

    PROTOCOL = "protocol"  # malformed, too large, or at the wrong time
    TOKEN = "token"
    UNKNOWN_POLICY = "unknown-policy"
    WRONG_GAME = "wrong-game"  # or another schema or fingerprint
    BUSY = "busy"  # no room for more clients or rows
    BAD_ROWS = "bad-rows"  # values that no game sends, such as an empty action mask
    OLD_DECISION = "old-decision"  # a number below the row's latest
    LOST_STATE = "lost-state"  # the hidden state of a row is not here: send its earlier decisions again
    FAILED = "failed"  # the server could not compute the answer
    REPLACED = "replaced"  # the same client connected again


Short = Annotated[str, Meta(max_length=limits.NAME_CHARS)]


class ClientHello(msgspec.Struct, frozen=True):
    """The first frame of a connection."""

    protocol: int
    client: Annotated[str, Meta(min_length=1, max_length=limits.CLIENT_CHARS)]  # the same in every reconnection
    token: Annotated[str, Meta(max_length=limits.TOKEN_CHARS)] = ""
    policy: Short | None = None  # NAME or NAME@u00000120; None: only STATUS follows
    greedy: bool = True  # the most likely action; False: a sample
    game: Short | None = None  # None: any; the client reads it from WELCOME
    schema: int | None = None
    fingerprint: Short | None = None


class GameDescription(msgspec.Struct, frozen=True):
    """The game of a policy: everything of its spec but the tables."""

    name: str
    seats: int
    actions: int
    schema: int
    fingerprint: str
    row_bytes: int
    leaves: list[tuple[str, str, list[int], int]]  # name, dtype, shape, offset in bytes from the start of a row
    layout: dict[str, Any]  # Any: the game's own constants
    options: dict[str, Any]  # Any: the game's own options, with which the policy was trained


class PolicyDescription(msgspec.Struct, frozen=True):
    """The policy that a connection asks."""

    name: str
    version: int  # of the weights
    recurrent: bool
    game: GameDescription
    sha256: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""  # of the checkpoint's model; empty: an older server


class Welcome(msgspec.Struct, frozen=True):
    """The answer to a HELLO."""

    protocol: int
    policies: list[str]  # names that this server answers for
    lease_s: float  # seconds for which the rows of a lost connection are kept
    ask_rows: int  # most rows of one ASK
    policy: PolicyDescription | None = None
    resumed: bool = False  # True if the rows of an earlier connection of this client are still there


class Refusal(msgspec.Struct, frozen=True):
    """The reason why the server refused a request. Without a batch, the server closes the connection after it."""

    code: str
    message: str
    batch: int | None = None
    rows: list[int] | None = None  # with `lost-state`: the rows whose hidden state is missing


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds between the last byte of an ASK and its ANSWER, as percentiles."""

    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0


class PolicyReport(msgspec.Struct, frozen=True):
    """The numbers of one policy."""

    name: str
    version: int
    loaded: bool
    clients: int
    rows: int  # rows that hold a slot
    decisions: int  # answered so far
    reloads: int = 0
    refused_reloads: int = 0  # checkpoints that could not be read
    greedy: bool = True  # False for clients that ask for samples (?sample)


class Report(msgspec.Struct, frozen=True):
    """The numbers of a server; rates and percentiles over the last ten seconds."""

    uptime_s: float
    device: str
    clients: int
    policies: list[PolicyReport]
    decisions: int  # rows answered so far
    asks: int  # ASK frames answered so far
    forwards: int  # forward passes so far
    again: int  # rows that were sent again and got the same answer
    refused: dict[str, int]  # refusals by code
    rows_per_s: float
    asks_per_s: float
    latency: Latency
    batch_mean: float  # rows of a forward pass
    batch_p50: float
    batch_max: int
    queue_rows: int  # rows that wait for a forward pass now


JSON_KINDS: dict[type, Kind] = {
    ClientHello: Kind.HELLO,
    Welcome: Kind.WELCOME,
    Refusal: Kind.REFUSED,
    Report: Kind.REPORT,
}


class Ask(NamedTuple):
    """The n rows of an ASK frame."""

    batch: int  # chosen by the client; the ANSWER repeats it
    row: NDArray[np.uint32]  # [n]
    number: NDArray[np.uint32]  # [n] of the decision: it grows with every decision of a row
    opens: NDArray[np.uint8]  # [n] 1 at the first decision of a match
    legal: NDArray[np.uint8]  # [n, ceil(A/8)] bit i of byte j is action 8j+i
    obs: NDArray[np.uint8]  # [n, row_bytes]

    def take(self, index: slice) -> Ask:
        """Return a copy of the rows at `index`, without the number of the batch."""
        columns: list[Any] = [np.array(column[index]) for column in self[1:]]  # Any: several types
        return Ask(0, *columns)

    @classmethod
    def concatenate(cls, asks: Sequence[Ask]) -> Ask:
        """Return the rows of at least one ASK, in order, as one without a batch number."""
        columns: list[Any] = [np.concatenate(column) for column in list(zip(*asks, strict=True))[1:]]  # Any: likewise
        return cls(0, *columns)


class ServedAnswer(NamedTuple):
    """The n rows of an ANSWER frame, in the order of the ASK."""

    batch: int
    version: int  # of the weights that chose
    row: NDArray[np.uint32]  # [n]
    number: NDArray[np.uint32]  # [n]
    action: NDArray[np.int32]  # [n]
    logp: NDArray[np.float32]  # [n]
    value: NDArray[np.float32]  # [n]


def splitter() -> FrameSplitter[Kind]:
    return FrameSplitter(FRAMES)


def ask_bytes(rows: int, actions: int, row_bytes: int) -> int:
    """Return the size of the body of an ASK with this many rows."""
    columns = 2 * aligned(4 * rows) + aligned(rows) + aligned(rows * ((actions + 7) // 8))
    return _COUNTS.size + columns + rows * row_bytes


def most_rows(actions: int, row_bytes: int) -> int:
    """Return the most rows that one ASK may have in a game with these sizes."""
    return min(limits.ASK_ROWS, (limits.BODY_BYTES - 64) // (9 + (actions + 7) // 8 + row_bytes))


def encode_ask(ask: Ask) -> bytes:
    head = _COUNTS.pack(len(ask.row), ask.batch)
    columns = (
        np.asarray(ask.row, _U4),
        np.asarray(ask.number, _U4),
        np.asarray(ask.opens, _U1),
        np.asarray(ask.legal, _U1),
    )
    return _frame(Kind.ASK, head, *(padded(column.tobytes()) for column in columns), ask.obs.tobytes())


def decode_ask(body: Bytes, actions: int, row_bytes: int) -> Ask:
    """Return the rows of an ASK frame, as views of `body`."""
    n, batch = _counts(body, Kind.ASK, _COUNTS.size)
    size = ask_bytes(n, actions, row_bytes)
    if len(body) != size:
        raise ProtocolError(
            f"ASK body has {len(body)} bytes, expected {size} for {n} rows of {row_bytes} bytes and {actions} actions"
        )
    mask, four = (actions + 7) // 8, aligned(4 * n)
    legal_at = 8 + 2 * four + aligned(n)
    return Ask(
        batch,
        np.ndarray((n,), _U4, body, 8),
        np.ndarray((n,), _U4, body, 8 + four),
        np.ndarray((n,), _U1, body, 8 + 2 * four),
        np.ndarray((n, mask), _U1, body, legal_at),
        np.ndarray((n, row_bytes), _U1, body, legal_at + aligned(n * mask)),
    )


def encode_answer(answer: ServedAnswer) -> bytes:
    head = _COUNTS.pack(len(answer.row), answer.batch) + _VERSION.pack(answer.version)
    columns = (
        np.asarray(answer.row, _U4),
        np.asarray(answer.number, _U4),
        np.asarray(answer.action, _I4),
        np.asarray(answer.logp, _F4),
        np.asarray(answer.value, _F4),
    )
    return _frame(Kind.ANSWER, head, *(padded(column.tobytes()) for column in columns))


def decode_answer(body: Bytes) -> ServedAnswer:
    """Return the rows of an ANSWER frame, as views of `body`."""
    start = _COUNTS.size + _VERSION.size
    n, batch = _counts(body, Kind.ANSWER, start)
    four = aligned(4 * n)
    if len(body) != start + 5 * four:
        raise ProtocolError(f"ANSWER body has {len(body)} bytes, expected {start + 5 * four} for {n} rows")
    kinds: Sequence[np.dtype[Any]] = (_U4, _U4, _I4, _F4, _F4)  # Any: several types
    columns = [np.ndarray((n,), kind, body, start + at * four) for at, kind in enumerate(kinds)]
    return ServedAnswer(batch, _VERSION.unpack_from(body, _COUNTS.size)[0], *columns)


def encode_json(kind: Kind, message: msgspec.Struct) -> bytes:
    """Return a frame whose body is JSON."""
    return _frame(kind, msgspec.json.encode(message))


def encode_refused(refusal: Refusal) -> bytes:
    return encode_json(
        Kind.REFUSED, msgspec.structs.replace(refusal, message=limits.clipped(refusal.message, limits.MESSAGE_CHARS))
    )


def encode_empty(kind: Kind) -> bytes:
    return _frame(kind)


T = TypeVar("T")


def decode_json(body: Bytes, kind: type[T]) -> T:
    """Return the JSON body of a frame."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, *UNREADABLE) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else limits.clipped(error)
        raise ProtocolError(f"{JSON_KINDS[kind].name} cannot be decoded: {why}") from error


def _counts(body: Bytes, kind: Kind, least: int) -> tuple[int, int]:
    if len(body) < least:
        raise ProtocolError(f"{kind.name} body has {len(body)} bytes, expected at least {least}")
    n, batch = _COUNTS.unpack_from(body)
    if n > limits.ASK_ROWS:
        raise ProtocolError(f"{kind.name} has {n:,} rows, allowed are {limits.ASK_ROWS:,}")
    return n, batch


def _frame(kind: Kind, *parts: bytes) -> bytes:
    size = sum(map(len, parts))
    if size > MAX_BODIES[kind]:
        raise ProtocolError(f"{kind.name} frame would have {size} bytes, allowed are {MAX_BODIES[kind]}")
    return b"".join((HEADER.pack(MAGIC, VERSION, kind, size), *parts))
