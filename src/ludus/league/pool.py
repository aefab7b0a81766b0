"""Past selves as files, `v00000025.safetensors`, kept spread over the run's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from ludus.policies.weights import write_tensors


def thinned(versions: Sequence[int], keep: int) -> list[int]:
    """At most `keep` of these, ascending: the first and the last stay, those with the closest neighbours go."""
    kept = sorted(versions)
    while len(kept) > keep:
        if keep <= 2:
            return kept[-1:] if keep == 1 else [kept[0], kept[-1]]
        gaps = [kept[at + 1] - kept[at - 1] for at in range(1, len(kept) - 1)]
        del kept[1 + gaps.index(min(gaps))]
    return kept


class Pool:
    """Written by the learner, read by actors, who load every member once they hear of it."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def versions(self) -> list[int]:
        return sorted(int(path.stem[1:]) for path in self._folder.glob("v*.safetensors"))

    def path(self, version: int) -> Path:
        return self._folder / f"v{version:08d}.safetensors"

    def add(self, version: int, tensors: Mapping[str, Tensor]) -> None:
        """Write a snapshot, whole or not at all, then thin. Raises OSError, with the pool as it was."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.path(version).with_suffix(".tmp")
        try:
            write_tensors(unfinished, tensors)
            unfinished.replace(self.path(version))
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        self.retain(thinned(self.versions(), self._keep))

    def retain(self, versions: Sequence[int]) -> None:
        """Remove all others: a resumed run forgets what came after its checkpoint."""
        for version in set(self.versions()) - set(versions):
            self.path(version).unlink(missing_ok=True)
