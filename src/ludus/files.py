"""Files that stay whole when a disk is full, and lines of files that something has damaged."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST_LINE = 1 << 24  # bytes; a longer line is damage, and is skipped without being held in memory


class Appender:
    """Appends records to a file, each of them whole or not at all.

    The file and its folder are made with the first record. `write` raises OSError; the file is then as it was before,
    and the next `write` tries again. Records of a file of `lines` begin on a line of their own, also behind a line that
    a crash cut short.
    """

    def __init__(self, path: Path, *, lines: bool = True) -> None:
        self._path = path
        self._lines = lines
        self._descriptor: int | None = None
        self._torn_at: int | None = None  # length of the whole records, while part of another stands behind them

    def write(self, record: bytes) -> None:
        if self._descriptor is None:
            self._descriptor = self._open()
        if self._torn_at is not None:
            os.ftruncate(self._descriptor, self._torn_at)
            self._torn_at = None
        size = os.fstat(self._descriptor).st_size
        if self._lines and size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            record = b"\n" + record
        try:
            _write_all(self._descriptor, record)
        except OSError:
            self._torn_at = size
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
                self._torn_at = None
            raise

    def close(self) -> None:
        """Close the file; a later `write` opens it again."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _open(self) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)


def replace(
    path: Path, data: bytes, *, aside: Path | None = None, partial: Path | None = None, durable: bool = False
) -> None:
    """Replace the content of a file atomically. After an OSError the file has its old content.

    The old content is moved to `aside`, if given. `partial` and `durable` are those of `replacing`.
    """
    with replacing(path, aside=aside, partial=partial, durable=durable) as unfinished:
        write(unfinished, data, durable=durable)


@contextmanager
def replacing(
    path: Path, *, aside: Path | None = None, partial: Path | None = None, durable: bool = False
) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` when the block ends without an error.

    If the block raises, the temporary file is removed and `path` is left as it was. Several processes that replace the
    same file must each pass a `partial`, the temporary path, of their own. `durable` also syncs the rename to the disk;
    the block must then write the file with `write(..., durable=True)`. Raises OSError.
    """
    unfinished = partial or path.with_name(f"{path.name}.partial")
    try:
        yield unfinished
        if aside is not None:
            os.replace(path, aside)
        os.replace(unfinished, path)
        if durable:
            sync_folder(path.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write(path: Path, data: bytes, *, durable: bool = False, mode: int = 0o666) -> None:
    """Write a file. With `durable` the data is on the disk, not only in the page cache, on return. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames within a folder survive a loss of power. Raises OSError."""
    if os.name == "nt":
        return  # folders cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lines(path: Path) -> Iterator[bytes | None]:
    """Yield the lines of a file, without their ends and without empty ones; None for a line that is too long. Yields
    nothing if there is no file. Raises OSError for one that cannot be read."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while line := file.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield None
            elif text := line.rstrip(b"\r\n"):
                yield text


def aside(path: Path) -> Path:
    """Return where to keep a damaged file so that nothing overwrites it: NAME.damaged, or NAME.damaged-2 and so on."""
    places = (path.with_name(f"{path.name}.damaged{end}") for end in ("", *(f"-{n}" for n in range(2, 100))))
    return next((place for place in places if not place.exists()), path.with_name(f"{path.name}.damaged"))


def reason(error: BaseException) -> str:
    """Return the reason why a file could not be written, in words for a user."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space left on the disk"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
