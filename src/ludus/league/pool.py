"""Past selves as files, `v00000025.safetensors`, kept spread over the run's history."""

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
    """At most `keep` of these, ascending: the first and the last stay, those with the closest neighbours go."""
    remaining = sorted(versions)
    while len(remaining) > keep:
        if keep <= 2:
            return remaining[-1:] if keep == 1 else [remaining[0], remaining[-1]]
        gaps = [remaining[at + 1] - remaining[at - 1] for at in range(1, len(remaining) - 1)]
        del remaining[1 + gaps.index(min(gaps))]
    return remaining


class Pool:
    """Written by the learner, read by actors, who load every member once they hear of it."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._dropped: set[int] = set()

    def versions(self) -> list[int]:
        names = (NAME.fullmatch(path.name) for path in self._folder.glob("v*.safetensors"))
        return sorted({int(name[1]) for name in names if name is not None} - self._dropped)

    def path(self, version: int) -> Path:
        return self._folder / f"v{version:08d}.safetensors"

    def add(self, version: int, tensors: Mapping[str, Tensor]) -> None:
        """Write a snapshot, whole or not at all, then thin. Raises OSError, with the pool as it was.

        The files of those that were thinned stay until `sweep`: the latest checkpoint may name them.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path(version)
        with files.replacing(path, partial=path.with_suffix(".tmp")) as unfinished:
            self._note(path.name, write_tensors(unfinished, tensors))
        versions = self.versions()
        self._dropped.update(set(versions) - set(thinned(versions, self._keep)))

    def _note(self, name: str, written: FileSum) -> None:
        """Add a snapshot to the pool's checksums, and drop those of files that are gone."""
        try:
            file_sums = checksums.load(self._folder) or {}
        except CheckpointError as error:
            log.warning("%s; snapshots written before now are read without verification", error)
            file_sums = {}
        there = {file: file_sum for file, file_sum in file_sums.items() if (self._folder / file).exists()}
        checksums.write(self._folder, {**there, name: written})

    def sweep(self) -> None:
        """A checkpoint that names the pool as it is was written: remove the files of others."""
        self.retain(self.versions())
        self._dropped.clear()

    def retain(self, versions: Sequence[int]) -> None:
        """Remove all others: a resumed run forgets what came after its checkpoint."""
        for version in (set(self.versions()) | self._dropped) - set(versions):
            self.path(version).unlink(missing_ok=True)
