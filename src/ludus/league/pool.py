"""The pool of past selves: snapshots of the weights, spread over the run's history, as `v00000025.safetensors`."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from ludus import files
from ludus.errors import CheckpointError
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.checksums import FileSum
from ludus.policies.weights import write_tensors

NAME = re.compile(r"v(\d{8,12})\.safetensors", re.ASCII)
log = logging.getLogger(__name__)


def thinned(versions: Sequence[int], keep: int) -> list[int]:
    """Return at most `keep` versions in ascending order.

    The first and the last version stay; versions with the closest neighbours are left out.
    """
    remaining = sorted(versions)
    while len(remaining) > keep:
        if keep <= 2:
            return remaining[-1:] if keep == 1 else [remaining[0], remaining[-1]]
        gaps = [remaining[at + 1] - remaining[at - 1] for at in range(1, len(remaining) - 1)]
        del remaining[1 + gaps.index(min(gaps))]
    return remaining


class Pool:
    """The folder of past selves. The learner writes it; actors load each member when they are told about it."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._dropped: set[int] = set()

    def versions(self) -> list[int]:
        """Return the versions of all members, in ascending order."""
        names = (NAME.fullmatch(path.name) for path in self._folder.glob("v*.safetensors"))
        return sorted({int(name[1]) for name in names if name is not None} - self._dropped)

    def path(self, version: int) -> Path:
        return self._folder / f"v{version:08d}.safetensors"

    def add(self, version: int, tensors: Mapping[str, Tensor]) -> None:
        """Write a snapshot atomically, then thin the pool. Raises OSError and leaves the pool unchanged if that fails.

        Files of removed members stay until `sweep`, because the latest checkpoint may still name them.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path(version)
        with files.replacing(path, partial=path.with_suffix(".tmp")) as unfinished:
            self._note(path.name, write_tensors(unfinished, tensors))
        versions = self.versions()
        self._dropped.update(set(versions) - set(thinned(versions, self._keep)))

    def _note(self, name: str, written: FileSum) -> None:
        """Add a snapshot to the pool's checksums and drop the checksums of missing files."""
        try:
            file_sums = checksums.load(self._folder) or {}
        except CheckpointError as error:
            log.warning("%s; snapshots that were written before are read without verification", error)
            file_sums = {}
        there = {file: file_sum for file, file_sum in file_sums.items() if (self._folder / file).exists()}
        checksums.write(self._folder, {**there, name: written})

    def sweep(self) -> None:
        """Remove the files of former members. Call it after a checkpoint with the present members was written."""
        self.retain(self.versions())
        self._dropped.clear()

    def retain(self, versions: Sequence[int]) -> None:
        """Remove all members except these. A resumed run thus removes those that are newer than its checkpoint."""
        for version in (set(self.versions()) | self._dropped) - set(versions):
            self.path(version).unlink(missing_ok=True)
