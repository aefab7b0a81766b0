"""The checkpoints of one run: written whole or not at all, the last ones and the best are kept."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from torch import Tensor

from ludus.errors import CheckpointError
from ludus.policies.checkpoint import (
    CHECKPOINTS,
    MATCHES,
    MODEL,
    OPTIMISER,
    REPLAY,
    STATE,
    UNFINISHED,
    State,
    names_in,
)
from ludus.policies.weights import write_bytes, write_tensors

BEST = "best.json"


class Best(Struct, frozen=True):
    name: str
    score: float
    stage: int = 0  # of the curriculum; scores of a later one count more


class Checkpoints:
    """The checkpoints of one run. Keeps the last `keep` and the best."""

    def __init__(self, run_dir: Path, keep: int) -> None:
        self.folder = run_dir / CHECKPOINTS
        self._keep = keep

    def save(
        self,
        state: State,
        model: Mapping[str, Tensor],
        optimiser: Mapping[str, Tensor],
        matches: Path | None = None,
        replay: Path | None = None,
        *,
        between: bool = False,
    ) -> Path:
        """Write one, then remove what is not kept. Raises CheckpointError; what was there before stays valid.

        `matches` is a file with what is under way, written at `staged`; it is taken over. Where this version was saved
        before, it replaces the one there, and so does the state. `replay`, also taken over, is that of the version.
        `between` stages there are no matches: what was saved of them is removed, and the state replaced.
        """
        final = self._path(state.version)
        if final.exists():
            if matches is not None or between:
                self._renew(final, state, matches)
            return final
        unfinished = self.folder / f"{UNFINISHED}{final.name}"
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            write_tensors(unfinished / MODEL, model)
            write_tensors(unfinished / OPTIMISER, optimiser)
            if matches is not None:
                matches.rename(unfinished / MATCHES)
            if replay is not None:
                replay.rename(unfinished / REPLAY)
            write_bytes(unfinished / STATE, _encoded(state))
            _sync_folder(unfinished)
            unfinished.rename(final)
            _sync_folder(self.folder)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise CheckpointError(_failure(final, error, self.names())) from error
        self._remove_old()
        return final

    def staged(self, name: str = MATCHES) -> Path:
        """Where to write the file with what is under way, or may come again, before `save`. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{UNFINISHED}{name}"

    def holds(self, version: int) -> bool:
        return self._path(version).exists()

    def names(self) -> list[str]:
        """Whole checkpoints, oldest first."""
        return names_in(self.folder)

    def latest(self) -> Path | None:
        names = self.names()
        return self.folder / names[-1] if names else None

    def best(self) -> Best | None:
        try:
            return msgspec.json.decode((self.folder / BEST).read_bytes(), type=Best)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise CheckpointError(f"cannot read {self.folder / BEST}: {error}") from error

    def mark_best(self, path: Path, score: float, stage: int = 0) -> bool:
        """Remember this one as the best if none of its stage or a later one scored higher. Raises CheckpointError."""
        best = self.best()
        if best is not None and (best.stage, best.score) > (stage, score) and (self.folder / best.name).exists():
            return False
        unfinished = self.folder / f"{UNFINISHED}{BEST}"
        try:
            write_bytes(unfinished, msgspec.json.encode(Best(path.name, score, stage)))
            unfinished.replace(self.folder / BEST)
        except OSError as error:
            raise CheckpointError(_failure(self.folder / BEST, error, self.names())) from error
        self._remove_old()
        return True

    def _path(self, version: int) -> Path:
        return self.folder / f"u{version:08d}"

    def _renew(self, final: Path, state: State, matches: Path | None) -> None:
        note = final / f"{UNFINISHED}{STATE}"
        try:
            write_bytes(note, _encoded(state))
            if matches is None:
                (final / MATCHES).unlink(missing_ok=True)
            else:
                matches.replace(final / MATCHES)
            note.replace(final / STATE)
            _sync_folder(final)
        except OSError as error:
            note.unlink(missing_ok=True)
            raise CheckpointError(_failure(final, error, self.names())) from error

    def _remove_old(self) -> None:
        best = self.best()
        for name in removable(self.names(), self._keep, best.name if best else None):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in self.names()[:-1]:  # a run is resumed from its latest, and these files are the largest by far
            for file in (MATCHES, REPLAY):
                with contextlib.suppress(OSError):
                    (self.folder / name / file).unlink(missing_ok=True)


def removable(names: Sequence[str], keep: int, best: str | None) -> list[str]:
    """Which of these, oldest first, need not stay."""
    return [name for name in names[:-keep] if name != best]


def _encoded(state: State) -> bytes:
    return msgspec.json.format(msgspec.json.encode(state))


def _failure(path: Path, error: OSError, names: Sequence[str]) -> str:
    reason = "no space left on the disk" if error.errno == errno.ENOSPC else str(error)
    kept = f"{names[-1]} stays the latest" if names else "there is none yet"
    return f"checkpoint {path} was not written: {reason}; {kept}"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
