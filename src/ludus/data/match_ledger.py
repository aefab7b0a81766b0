"""One file of the ledger: matches as their causes (seed, policies, actions) and their results. Pure: bytes in and out.

magic (8 bytes), length of the header (4 bytes, little endian), header (JSON), then one zlib stream per column.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ludus import limits
from ludus.columns import Columns, column
from ludus.data.manifest import MOST_DECISIONS, MOST_MATCHES
from ludus.errors import DatasetError

MAGIC = b"LUDUSLG1"
LARGEST_HEADER = 1 << 20
LARGEST_LOGS = 1 << 30  # bytes of all match logs of a shard
LEVEL = 6  # of zlib
ACTION_TYPES = (np.uint8, np.uint16, np.int32)


@dataclass(frozen=True, slots=True)
class Matches(Columns):
    """The matches of a shard. Axes: M matches, S seats, F facts."""

    number: NDArray[np.int64] = column(np.int64)  # [M] in the dataset that first recorded the match
    seed: NDArray[np.int64] = column(np.int64)  # [M]
    policy: NDArray[np.uint16] = column(np.uint16, "seats")  # [M, S] places in the manifest's list of policies
    count: NDArray[np.int32] = column(np.int32, "seats")  # [M, S] decisions
    score: NDArray[np.float32] = column(np.float32, "seats")  # [M, S] 1 won, 0 lost, 0.5 tied
    reward: NDArray[np.float32] = column(np.float32, "seats")  # [M, S] sum over the match
    rating: NDArray[np.float32] = column(np.float32, "seats")  # [M, S] of the player; NaN if not known
    truncated: NDArray[np.bool_] = column(np.bool_)  # [M] a limit cut the match short
    facts: NDArray[np.float32] = column(np.float32, "facts")  # [M, F] numbers of the game; NaN if not sent
    log_bytes: NDArray[np.int32] = column(np.int32)  # [M] length of the match's own log; 0 if it was not kept

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, slots=True)
class LedgerShard:
    """Matches with all their actions. `action` has the decisions of match 0, seat 0, then of match 0, seat 1 ..."""

    matches: Matches
    action: NDArray[np.int32]  # [D]
    facts: tuple[str, ...] = ()  # names of the columns of `matches.facts`
    logs: bytes = b""  # UTF-8, one after the other

    @property
    def decisions(self) -> int:
        return len(self.action)

    @property
    def first(self) -> NDArray[np.int64]:
        """Return where the decisions of each match and seat begin [M, S]."""
        ends: NDArray[np.int64] = np.cumsum(self.matches.count, dtype=np.int64).reshape(self.matches.count.shape)
        return ends - self.matches.count

    def take(self, index: NDArray[np.intp]) -> LedgerShard:
        """Return a shard of the matches at `index`."""
        count, first = self.matches.count[index], self.first[index]
        log_ends = np.cumsum(self.matches.log_bytes, dtype=np.int64)
        logs = b"".join(self.logs[log_ends[at] - self.matches.log_bytes[at] : log_ends[at]] for at in index.tolist())
        return LedgerShard(self.matches.take(index), self.action[spans(first, count)], self.facts, logs)


def spans(first: NDArray[np.int64], count: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the indices first, first + 1 .. of all spans, one after the other."""
    first, count = first.ravel(), count.ravel()
    ends = np.cumsum(count, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    index: NDArray[np.int64] = np.arange(total, dtype=np.int64) + np.repeat(first - (ends - count), count)
    return index


def joined(shards: list[LedgerShard]) -> LedgerShard:
    """Join shards of the same number of seats into one. Facts that a shard lacks are NaN."""
    names = tuple(dict.fromkeys(name for shard in shards for name in shard.facts))
    arrays: dict[str, NDArray[Any]] = {}  # Any: columns of several types
    for name in Matches.columns():
        parts = [_facts(shard, names) if name == "facts" else getattr(shard.matches, name) for shard in shards]
        arrays[name] = np.concatenate(parts)
    action = np.concatenate([shard.action for shard in shards])
    return LedgerShard(Matches(**arrays), action, names, b"".join(shard.logs for shard in shards))


class _ColumnNote(Struct, frozen=True):
    """One column in the header."""

    dtype: str
    nbytes: Annotated[int, Meta(ge=0, le=limits.HOST_BYTES)]  # compressed


class _Header(Struct, frozen=True):
    matches: Annotated[int, Meta(ge=0, le=MOST_MATCHES)]
    seats: Annotated[int, Meta(ge=1, le=limits.SEATS)]
    decisions: Annotated[int, Meta(ge=0, le=MOST_DECISIONS)]
    log_bytes: Annotated[int, Meta(ge=0, le=LARGEST_LOGS)]
    facts: Annotated[list[str], Meta(max_length=limits.FACTS_OF_FLEET)]
    columns: dict[str, _ColumnNote]


def encode(shard: LedgerShard, actions: int) -> bytes:
    """Return a shard as the bytes of its file. `actions` is the number of actions of the game."""
    narrow = next(kind for kind in ACTION_TYPES if actions - 1 <= np.iinfo(kind).max)
    arrays: dict[str, NDArray[Any]] = {**shard.matches.arrays(), "action": shard.action.astype(narrow)}
    arrays["logs"] = np.frombuffer(shard.logs, np.uint8)
    packed = {name: zlib.compress(np.ascontiguousarray(array).tobytes(), LEVEL) for name, array in arrays.items()}
    header = _Header(
        len(shard.matches),
        shard.matches.policy.shape[1],
        shard.decisions,
        len(shard.logs),
        list(shard.facts),
        {name: _ColumnNote(arrays[name].dtype.str, len(data)) for name, data in packed.items()},
    )
    head = msgspec.json.encode(header)
    return b"".join((MAGIC, struct.pack("<I", len(head)), head, *packed.values()))


def decode(data: bytes, actions: int) -> LedgerShard:
    """Return the shard that `encode` was given. Raises DatasetError, which says what is wrong, for other bytes.

    Sizes are checked before memory is allocated for them.
    """
    try:
        return _decode(data, actions)
    except (msgspec.MsgspecError, struct.error, zlib.error, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"it is no ledger: {error}") from error


def _decode(data: bytes, actions: int) -> LedgerShard:
    if data[: len(MAGIC)] != MAGIC:
        raise DatasetError(f"it begins with {data[: len(MAGIC)]!r}, expected {MAGIC!r}")
    (length,) = struct.unpack_from("<I", data, len(MAGIC))
    at = len(MAGIC) + 4
    if length > min(LARGEST_HEADER, len(data) - at):
        raise DatasetError(f"its header has {length:,} bytes, more than are there or allowed")
    header = msgspec.json.decode(data[at : at + length], type=_Header)
    at += length
    sizes = {"seats": header.seats, "facts": len(header.facts)}
    shapes = {name: each.shape(header.matches, sizes) for name, each in Matches.columns().items()}
    dtypes: dict[str, tuple[np.dtype[Any], ...]] = {name: (each.dtype,) for name, each in Matches.columns().items()}
    shapes |= {"action": (header.decisions,), "logs": (header.log_bytes,)}
    dtypes |= {"action": tuple(np.dtype(kind) for kind in ACTION_TYPES), "logs": (np.dtype(np.uint8),)}
    if header.columns.keys() != shapes.keys():
        raise DatasetError(f"its columns are {', '.join(header.columns)}, expected {', '.join(shapes)}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, note in header.columns.items():
        dtype = next((kind for kind in dtypes[name] if kind.str == note.dtype), None)
        if dtype is None:
            raise DatasetError(f"its column {name} is {note.dtype!r}")
        arrays[name] = _column(data[at : at + note.nbytes], dtype, shapes[name], name)
        at += note.nbytes
    action, logs = arrays.pop("action").astype(np.int32), arrays.pop("logs")
    shard = LedgerShard(Matches(**arrays), action, tuple(header.facts), logs.tobytes())
    _check(shard, actions)
    return shard


def _column(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if nbytes > limits.HOST_BYTES:
        raise DatasetError(f"its column {name} has shape {shape}, which is more than is allowed")
    stream = zlib.decompressobj()
    content = stream.decompress(data, nbytes + 1)
    if len(content) != nbytes or not stream.eof:
        raise DatasetError(f"its column {name} holds other than {nbytes:,} bytes")
    if dtype == np.bool_ and content.strip(b"\0\1"):
        raise DatasetError(f"its column {name} holds other values than true and false")
    return np.frombuffer(content, dtype).reshape(shape)


def _check(shard: LedgerShard, actions: int) -> None:
    matches = shard.matches
    for name, lengths, total in (
        ("count", matches.count, shard.decisions),
        ("log_bytes", matches.log_bytes, len(shard.logs)),
    ):
        if (lengths < 0).any() or int(lengths.sum(dtype=np.int64)) != total:
            raise DatasetError(f"its column {name} does not add up to {total:,}")
    if len(shard.action) and not 0 <= int(shard.action.min()) <= int(shard.action.max()) < actions:
        raise DatasetError(
            f"its actions are {shard.action.min()} to {shard.action.max()}, the game has 0 to {actions - 1}"
        )
    if ((matches.seed < 0) | (matches.seed > limits.SEED)).any():
        raise DatasetError("its seeds are out of range")


def _facts(shard: LedgerShard, names: tuple[str, ...]) -> NDArray[np.float32]:
    if shard.facts == names:
        return shard.matches.facts
    facts = np.full((len(shard.matches), len(names)), np.nan, np.float32)
    facts[:, [names.index(name) for name in shard.facts]] = shard.matches.facts
    return facts


def note(facts: Mapping[str, float], names: tuple[str, ...]) -> list[float]:
    """Return the facts of one match in the order of `names`; NaN for those that it lacks."""
    return [facts.get(name, float("nan")) for name in names]
