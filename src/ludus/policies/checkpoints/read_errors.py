"""Turns every failure to read the files of a checkpoint into a CheckpointError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from safetensors import SafetensorError

from ludus.errors import CheckpointError, LudusError

LONGEST_REASON = 300  # characters
BAD_BYTES = (  # everything that parsing a file from a stranger may raise
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
    """Turn every error of the block into a CheckpointError with a message of one line: `trouble`, `what` and the
    reason."""
    try:
        yield
    except CheckpointError:
        raise
    except BAD_BYTES as error:
        raise CheckpointError(f"{trouble} {what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Return the message of an error as one line of bounded length."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}..."
