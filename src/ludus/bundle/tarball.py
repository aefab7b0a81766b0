"""A tar archive whose bytes depend on its files only: sorted, without times, owners and other modes than two."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from ludus.errors import SetupError

EPOCH_S = 315_532_800  # 1980-01-01: some file systems hold nothing earlier
COMPRESSION = 1  # wheels are compressed already
COMPRESSED = (".tar.gz", ".tgz")

Progress = Callable[[str, float], None]  # name of the step, share of it that is done


def files_under(folder: Path, name: str) -> dict[str, Path]:
    """Return the files and links under a folder by their names in an archive, in which the folder is `name`.

    Raises SetupError for a link that leads out of the folder: it would lead nowhere on another machine.
    """
    paths = {}
    for path in _walk(folder):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise SetupError(f"{path} is a link to {os.readlink(path)}, outside of {folder}; it cannot be packed")
        paths[f"{name}/{path.relative_to(folder).as_posix()}"] = path
    return paths


def sums(paths: Mapping[str, Path], progress: Progress) -> dict[str, str]:
    """Return the sha256 of every file by its name; links have none."""
    whole, done = sum(_size(path) for path in paths.values()), 0
    digests = {}
    for name, path in sorted(paths.items()):
        progress("checksums", done / max(1, whole))
        if not path.is_symlink():
            with path.open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
            done += _size(path)
    return digests


def write(target: Path, paths: Mapping[str, Path], texts: Mapping[str, str], progress: Progress) -> None:
    """Write an archive of files and texts. It is compressed if its name ends in .tar.gz or .tgz."""
    whole, done = sum(_size(path) for path in paths.values()), 0
    with ExitStack() as stack:
        stream: io.BufferedIOBase = stack.enter_context(target.open("wb"))
        if target.name.removesuffix(".partial").endswith(COMPRESSED):
            stream = stack.enter_context(gzip.GzipFile("", "wb", COMPRESSION, stream, mtime=0))
        tar = stack.enter_context(tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT))
        for name in sorted({*paths, *texts}):
            if name in texts:
                content = texts[name].encode()
                entry = _entry(name, is_program=texts[name].startswith("#!"), size=len(content))
                tar.addfile(entry, io.BytesIO(content))
                continue
            progress("writing", done / max(1, whole))
            _add(tar, name, paths[name])
            done += _size(paths[name])


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    if path.is_symlink():
        entry = _entry(name, is_program=True)
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
        tar.addfile(entry)
        return
    with path.open("rb") as file:
        tar.addfile(_entry(name, is_program=os.access(path, os.X_OK), size=_size(path)), file)


def _entry(name: str, *, is_program: bool, size: int = 0) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, EPOCH_S, 0o755 if is_program else 0o644
    return entry


def _size(path: Path) -> int:
    return 0 if path.is_symlink() else path.stat().st_size


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        for name in files:
            yield Path(where, name)
        for name in folders:
            if Path(where, name).is_symlink():
                yield Path(where, name)
