"""The folder of a dataset: reads verified shards, and adds shards that are written whole or not at all."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ludus import files
from ludus.data import manifest, match_ledger, rows
from ludus.data.manifest import Manifest, RowsNote, ShardNote
from ludus.data.match_ledger import LedgerShard
from ludus.data.rows import Rows
from ludus.errors import DatasetError
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import GameNote
from ludus.policies.checkpoints.checksums import FileSum
from ludus.spec import GameSpec

LEDGER, ROWS = "ledger", "rows"
LARGEST_LEDGER = 1 << 30  # bytes of a shard's file
DAMAGED = ".damaged"  # ends the names of files that were set aside
log = logging.getLogger(__name__)
_OURS = re.compile(r"[0-9]{6,9}\.(ledger|safetensors)(\.partial)?", re.ASCII)


class Dataset:
    """A dataset on the disk. Only one process may write to it at a time (run/lock.py)."""

    def __init__(self, folder: Path, content: Manifest) -> None:
        self.folder = folder
        self.manifest = content

    @classmethod
    def open(cls, folder: Path) -> Dataset:
        """Open an existing dataset. Raises DatasetError if there is none or its manifest is damaged."""
        return cls(folder, manifest.read(folder))

    @classmethod
    def create(cls, folder: Path, content: Manifest) -> Dataset:
        """Create a dataset in a folder that holds none. Raises DatasetError if it holds one, or cannot be written."""
        if (folder / manifest.MANIFEST).exists():
            raise DatasetError(f"{folder} already holds a dataset; continue it with --resume, or choose another folder")
        dataset = cls(folder, content)
        dataset._write(content)
        return dataset

    @property
    def shards(self) -> list[ShardNote]:
        return self.manifest.shards

    def ledger_path(self, shard: ShardNote) -> Path:
        return self.folder / LEDGER / f"{shard.name}.ledger"

    def rows_path(self, shard: ShardNote) -> Path:
        return self.folder / ROWS / f"{shard.name}.safetensors"

    def ledger(self, shard: ShardNote) -> LedgerShard:
        """Read the matches of a shard. Raises DatasetError, which names the file, if it is damaged or missing."""
        path = self.ledger_path(shard)
        data = _read(path, shard.ledger)
        try:
            content = match_ledger.decode(data, self.manifest.spec.actions)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error
        matches = content.matches
        if (len(matches), content.decisions) != (shard.matches, shard.decisions):
            raise DatasetError(f"{path} holds {len(matches)} matches, the manifest says {shard.matches}")
        if matches.policy.shape[1] != self.manifest.spec.seats:
            raise DatasetError(f"{path} is of {matches.policy.shape[1]} seats, expected {self.manifest.spec.seats}")
        if len(matches) and int(matches.policy.max()) >= len(self.manifest.policies):
            raise DatasetError(f"{path} names policy {matches.policy.max()}, {len(self.manifest.policies)} are listed")
        return content

    def ledgers(self) -> Iterator[tuple[ShardNote, LedgerShard]]:
        """Yield every shard with its matches, in the order of the manifest. Raises DatasetError for a damaged one."""
        for shard in self.shards:
            yield shard, self.ledger(shard)

    def undamaged(self) -> Iterator[tuple[ShardNote, LedgerShard]]:
        """Yield every shard with its matches; damaged ones are left out with a warning."""
        for shard in self.shards:
            try:
                content = self.ledger(shard)
            except DatasetError as error:
                log.warning("%s; it is left out", error)
                continue
            yield shard, content

    def undamaged_rows(self, shard: ShardNote, spec: GameSpec, fingerprint: str) -> Rows | None:
        """Return the rows of a shard; None if it has none of this fingerprint, or, with a warning, damaged ones.

        `spec` need not have tables, which the fingerprint includes.
        """
        if shard.rows is None or shard.rows.fingerprint != fingerprint:
            return None
        path = self.rows_path(shard)
        try:
            verify(path, shard.rows.file)
            return rows.read(path, row_bytes=spec.obs.nbytes, actions=spec.actions)
        except DatasetError as error:
            log.warning("%s; it is left out", error)
            return None

    def set_damaged_aside(self) -> int:
        """Take damaged shards out of the dataset, with a warning, and rename their files. Returns the number of their
        matches. Raises DatasetError if the manifest cannot be written."""
        whole, matches = {shard.name for shard, _ in self.undamaged()}, 0
        for shard in [shard for shard in self.shards if shard.name not in whole]:
            path = self.ledger_path(shard)
            with suppress(OSError):
                path.rename(path.with_name(path.name + DAMAGED))
            self.update(shards=[each for each in self.shards if each.name != shard.name])
            matches += shard.matches
        return matches

    def add(self, content: LedgerShard, ended_s: float) -> ShardNote:
        """Add a shard: first its file, then the manifest. Raises DatasetError if the disk is full or read-only; the
        dataset is then as it was before."""
        name = f"{max((int(shard.name) for shard in self.shards), default=-1) + 1:06d}"
        data = match_ledger.encode(content, self.manifest.spec.actions)
        note = ShardNote(name, checksums.of_bytes(data), len(content.matches), content.decisions, ended_s)
        path = self.ledger_path(note)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(path, durable=True) as partial:
                files.write(partial, data, durable=True)
        except OSError as error:
            raise DatasetError(f"{path} cannot be written: {files.reason(error)}") from error
        self.update(shards=[*self.shards, note])
        return note

    def set_rows(self, shard: ShardNote, rows: RowsNote | None) -> None:
        """List the file of rows of a shard, or none. Raises DatasetError if the manifest cannot be written."""
        shards = [msgspec.structs.replace(each, rows=rows) if each.name == shard.name else each for each in self.shards]
        self.update(shards=shards)

    def update(self, **changes: object) -> None:
        """Write the manifest with other values. Raises DatasetError; the manifest is then as it was before."""
        self._write(msgspec.structs.replace(self.manifest, **changes))

    def sweep(self) -> list[Path]:
        """Remove files that a killed process left: shards that are not in the manifest. Returns their paths."""
        listed = {self.ledger_path(shard) for shard in self.shards}
        listed |= {self.rows_path(shard) for shard in self.shards if shard.rows is not None}
        present = [path for folder in (LEDGER, ROWS) for path in sorted((self.folder / folder).glob("*"))]
        remains = [path for path in present if path not in listed and _OURS.fullmatch(path.name)]
        for path in remains:
            with suppress(OSError):
                path.unlink()
        return remains

    def _write(self, content: Manifest) -> None:
        path = self.folder / manifest.MANIFEST
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            manifest.write(self.folder, content)
        except OSError as error:
            raise DatasetError(f"{path} cannot be written: {files.reason(error)}") from error
        self.manifest = content


def row_bytes(spec: GameNote) -> int:
    """Return the number of bytes of an observation. Raises CheckpointError if the leaves are invalid."""
    return checkpoint.rebuild_game(spec, {}).obs.nbytes


def verify(path: Path, expected: FileSum) -> None:
    """Compare a file with its size and checksum, in pieces. Raises DatasetError, which names the file."""
    try:
        size = path.stat().st_size
        actual = checksums.of_file(path) if size == expected.size else FileSum(size, "")
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {files.reason(error)}") from error
    if actual != expected:
        raise DatasetError(_damage(path, expected, actual))


def _read(path: Path, expected: FileSum) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(min(expected.size, LARGEST_LEDGER) + 1)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {files.reason(error)}") from error
    actual = FileSum(len(data), hashlib.sha256(data).hexdigest())
    if actual != expected:
        raise DatasetError(_damage(path, expected, actual))
    return data


def _damage(path: Path, expected: FileSum, actual: FileSum) -> str:
    return (
        f"{path} is damaged: expected {expected.size:,} bytes with SHA-256 {expected.sha256[:16]}, "
        f"found {actual.size:,} bytes with SHA-256 {actual.sha256[:16] or 'of another length'}; "
        "`ludus data filter` copies the undamaged shards"
    )
