"""checksums.json: size and SHA-256 of the files in a folder. Every file that is read is compared with it.

The file also decides which of two versions of a file counts. To replace several files at once, write the new ones under
their `pending` names, then checksums.json, then call `publish`: a process that is killed in between leaves a folder
whose files all read as the old ones or all as the new ones. A folder without checksums.json is read unverified; older
versions of ludus wrote none. Checksums find damage; they do not protect against deliberate changes.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ludus import files
from ludus.errors import CheckpointError
from ludus.policies.checkpoints.read_errors import reading

CHECKSUMS = "checksums.json"
UNFINISHED = ".unfinished-"  # how the names of pending files begin
LARGEST = 2**20  # bytes; size limit of checksums.json
ATTEMPTS = 2  # of a read: a writer may replace files while they are read

Content = TypeVar("Content")


class FileSum(Struct, frozen=True):
    """Size and checksum of one file."""

    size: int  # bytes
    sha256: str


class _Page(Struct, frozen=True):
    """The content of checksums.json."""

    files: dict[str, FileSum]
    sha256: str  # of the JSON of `files`, so that damage to this file is not taken for damage to another


def of_bytes(data: bytes) -> FileSum:
    """Return size and checksum of these bytes."""
    return FileSum(len(data), hashlib.sha256(data).hexdigest())


def of_file(path: Path) -> FileSum:
    """Return size and checksum of a file. Raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileSum(file.tell(), digest)


def write(folder: Path, sums: Mapping[str, FileSum]) -> None:
    """Replace the checksums of a folder atomically. Raises OSError."""
    page = msgspec.json.encode(_Page(dict(sums), _digest(sums)))
    path = folder / CHECKSUMS
    files.replace(path, msgspec.json.format(page), partial=pending(path), durable=True)


def load(folder: Path) -> dict[str, FileSum] | None:
    """Return the checksums of a folder by file name, or None if it has none. Raises CheckpointError if damaged."""
    path = folder / CHECKSUMS
    with reading(path):
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return None
        if size > LARGEST:
            raise CheckpointError(f"{path} has {size:,} bytes, expected at most {LARGEST:,}")
        try:
            page = msgspec.json.decode(path.read_bytes(), type=_Page)
            trouble = "" if page.sha256 == _digest(page.files) else "its own SHA-256 does not match"
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            trouble = str(error)
        if trouble:
            raise CheckpointError(f"{path} is damaged ({trouble}); remove it to read the folder without verification")
        return page.files


def pending(path: Path) -> Path:
    """Return the path at which to write the next version of a file, before `publish` moves it to `path`."""
    return path.with_name(UNFINISHED + path.name)


def publish(folder: Path, names: Iterable[str]) -> None:
    """Move pending files to their final names. Call it after `write`. Raises OSError."""
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            pending(folder / name).replace(folder / name)
    files.sync_folder(folder)


def settle(folder: Path) -> None:
    """Clean up after a killed process: publish pending files that match the checksums, remove the others.

    Only the process that writes to the folder may call this. Raises OSError and CheckpointError.
    """
    sums = load(folder) or {}
    for unfinished in sorted(folder.glob(f"{UNFINISHED}*")):
        name = unfinished.name.removeprefix(UNFINISHED)
        if name in sums and of_file(unfinished) == sums[name]:
            unfinished.replace(folder / name)
        else:
            unfinished.unlink()


def holds(path: Path) -> bool:
    """Return whether a file exists and is listed in the checksums of its folder, if it has any. Raises CheckpointError
    if the checksums are damaged."""
    sums = load(path.parent)
    return path.exists() if sums is None else path.name in sums and (path.exists() or pending(path).exists())


def read(path: Path) -> bytes:
    """Return the bytes of a file, verified against the checksums of its folder. Raises CheckpointError."""

    def take(candidate: Path) -> tuple[bytes, FileSum]:
        data = candidate.read_bytes()
        return data, of_bytes(data)

    return _matching(path, take)


def verified(path: Path) -> Path:
    """Return the path of the file's version that matches the checksums of its folder. Raises CheckpointError.

    Use it for files that are too large for `read`: they are hashed in pieces, and the caller then reads them.
    """
    return _matching(path, lambda candidate: (candidate, of_file(candidate)))


def _matching(path: Path, take: Callable[[Path], tuple[Content, FileSum]]) -> Content:
    """Return `take` of the version of a file, final or pending, that matches the checksums. `take` returns a content
    and its checksum. Raises CheckpointError if neither version matches."""
    with reading(path):
        for _ in range(ATTEMPTS):
            expected = (load(path.parent) or {}).get(path.name)
            if expected is None:
                return take(path)[0]
            for candidate in (path, pending(path)):
                with contextlib.suppress(FileNotFoundError):
                    if candidate.stat().st_size == expected.size:
                        content, actual = take(candidate)
                        if actual == expected:
                            return content
        assert expected is not None  # there is at least one attempt
        actual = of_file(path)
        raise CheckpointError(
            f"{path} is damaged: expected {expected.size:,} bytes with SHA-256 {expected.sha256[:16]}, "
            f"found {actual.size:,} bytes with SHA-256 {actual.sha256[:16]}"
        )


def _digest(sums: Mapping[str, FileSum]) -> str:
    return hashlib.sha256(msgspec.json.encode(dict(sums), order="sorted")).hexdigest()
