"""Files of a checkpoint: written to the disk before a call returns, and read with one kind of error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from safetensors import SafetensorError

from ludus.errors import CheckpointError, LudusError

LONGEST_REASON = 300  # characters
BAD_BYTES = (  # everything that parsing the bytes of a stranger may raise
    OSError,
    ValueError,  # UnicodeDecodeError is one
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
    RuntimeError,  # RecursionError is one
    MemoryError,
    StopIteration,
    SafetensorError,
    msgspec.MsgspecError,
    LudusError,
)


@contextmanager
def reading(what: object, trouble: str = "cannot read") -> Iterator[None]:
    """Turn every error of the block into a CheckpointError of one line that names `what`."""
    try:
        yield
    except CheckpointError:
        raise
    except BAD_BYTES as error:
        raise CheckpointError(f"{trouble} {what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The message of an error in one line of bounded length."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}..."


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that is on the disk, not only in its cache, when this returns. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames within a folder survive a loss of power. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
