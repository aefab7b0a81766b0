"""One file of rows: the decisions of whole matches as safetensors, read through a memory map.

The decisions of a match and seat are consecutive: those of the first match and seat 0, then of seat 1, and so on. The
names are those of the columns of a SegmentBatch, and any T consecutive decisions are a segment of one. Columns that
depend on a policy (log-probability, value, version, hidden state) are not stored.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from ludus import files
from ludus.data.manifest import MOST_DECISIONS, MOST_MATCHES
from ludus.errors import DatasetError
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.checksums import FileSum

LARGEST_HEADER = 1 << 20
DTYPES = {"U8": np.uint8, "BOOL": np.bool_, "I32": np.int32, "F32": np.float32}
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """The decisions of some matches of a shard. Axes: N decisions, m matches."""

    obs: NDArray[np.uint8]  # [N, nbytes]
    legal: NDArray[np.uint8]  # [N, ceil(A / 8)] action masks, eight actions a byte, the first in the lowest bit
    action: NDArray[np.int32]  # [N]
    reward: Floats  # [N] earned between this decision and the next
    ends: NDArray[np.bool_]  # [N] True for the last decision of a match
    opens: NDArray[np.bool_]  # [N] True for the first decision of a match
    match: NDArray[np.int32]  # [m] places of the matches in the ledger's shard

    @property
    def decisions(self) -> int:
        return len(self.action)


KINDS = {
    "obs": ("U8", 2),
    "legal": ("U8", 2),
    "action": ("I32", 1),
    "reward": ("F32", 1),
    "ends": ("BOOL", 1),
    "opens": ("BOOL", 1),
    "match": ("I32", 1),
}  # dtype and axes of each column


class _Tensor(Struct, frozen=True):
    """One entry of a safetensors header."""

    dtype: str
    shape: Annotated[list[Annotated[int, Meta(ge=0, le=2**40)]], Meta(max_length=2)]
    data_offsets: tuple[Annotated[int, Meta(ge=0, le=2**48)], Annotated[int, Meta(ge=0, le=2**48)]]


def write(path: Path, rows: Rows) -> FileSum:
    """Write a file atomically. Returns its size and checksum. Raises DatasetError, and leaves no file, on a full
    disk."""
    arrays = {name: np.ascontiguousarray(getattr(rows, name)) for name in KINDS}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path, durable=True) as partial:
            save_file(arrays, partial)
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            return checksums.of_file(partial)
    except (OSError, SafetensorError) as error:  # safetensors reports a full disk in its own way
        raise DatasetError(f"{path} cannot be written: {files.reason(error)}") from error


def read(path: Path, *, row_bytes: int, actions: int) -> Rows:
    """Map a file into memory. `row_bytes` and `actions` are those of the game.

    Raises DatasetError for a file that does not fit them or is damaged in its header; `folder.verify` checks the rest.
    """
    try:
        data = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: {files.reason(error)}") from error
    try:
        arrays = _arrays(data)
    except (msgspec.MsgspecError, struct.error, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DatasetError(f"{path} holds no rows: {error}") from error
    rows = Rows(**arrays)
    _check(rows, path, row_bytes, actions)
    return rows


def _arrays(data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:  # Any: columns of several types
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    if length > min(LARGEST_HEADER, len(data) - 8):
        raise ValueError(f"its header has {length:,} bytes, more than are there or allowed")
    header = msgspec.json.decode(data[8 : 8 + length].tobytes(), type=dict[str, Any])
    header.pop("__metadata__", None)
    if header.keys() != KINDS.keys():
        raise ValueError(f"its columns are {', '.join(sorted(header))[:200]}, expected {', '.join(sorted(KINDS))}")
    content = data[8 + length :]
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, axes) in KINDS.items():
        entry = msgspec.convert(header[name], _Tensor)
        begin, end = entry.data_offsets
        nbytes = int(np.prod(entry.shape, dtype=object)) * np.dtype(DTYPES[kind]).itemsize
        if entry.dtype != kind or len(entry.shape) != axes or end - begin != nbytes or end > len(content):
            raise ValueError(
                f"its column {name} is {entry.dtype} {entry.shape} in bytes {begin} to {end}, expected {kind} with "
                f"{axes} axes"
            )
        arrays[name] = content[begin:end].view(DTYPES[kind]).reshape(entry.shape)
    return arrays


def _check(rows: Rows, path: Path, row_bytes: int, actions: int) -> None:
    expected = {"obs": (row_bytes,), "legal": (-(-actions // 8),)}
    for name in KINDS:
        shape = getattr(rows, name).shape
        if shape[1:] != expected.get(name, ()) or (name != "match" and shape[0] != rows.decisions):
            raise DatasetError(
                f"{path} does not fit the game: its column {name} has shape {shape}, expected {rows.decisions} rows of "
                f"{expected.get(name, ())}; render it again with `ludus data render`"
            )
    if rows.decisions > MOST_DECISIONS or len(rows.match) > MOST_MATCHES:
        raise DatasetError(f"{path} holds {rows.decisions:,} decisions, more than a shard may")


def returns(rows: Rows, gamma: float) -> Floats:
    """Return the discounted sum of the rewards from each decision to the end of its match [N]."""
    total = np.array(rows.reward, np.float32)
    last = np.flatnonzero(rows.ends)
    count = np.diff(last, prepend=-1)
    for back in range(1, int(count.max(initial=0))):  # one step at a time in all matches at once
        last, count = last[count > back], count[count > back]
        at = last - back
        total[at] += np.float32(gamma) * total[at + 1]
    return total
