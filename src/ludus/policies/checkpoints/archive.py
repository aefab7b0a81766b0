"""The checkpoints of one run: written whole or not at all, the last ones and the best are kept."""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from torch import Tensor

from ludus import files
from ludus.errors import CheckpointError
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.checkpoint import (
    CHECKPOINTS,
    MATCHES,
    MODEL,
    NAME,
    OPTIMISER,
    REPLAY,
    STATE,
    State,
    names_in,
    read_state,
)
from ludus.policies.checkpoints.checksums import UNFINISHED, FileSum, pending
from ludus.policies.checkpoints.read_errors import reading
from ludus.policies.weights import write_tensors

BEST = "best.json"
LARGEST_BEST = 2**16  # bytes
log = logging.getLogger(__name__)


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
            sums = {
                MODEL: write_tensors(unfinished / MODEL, model),
                OPTIMISER: write_tensors(unfinished / OPTIMISER, optimiser),
            }
            for name, staged in ((MATCHES, matches), (REPLAY, replay)):
                if staged is not None:
                    staged.rename(unfinished / name)
                    sums[name] = checksums.of_file(unfinished / name)
            sums[STATE] = _write_state(unfinished / STATE, state)
            checksums.write(unfinished, sums)
            unfinished.rename(final)
            files.sync_folder(self.folder)
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
        """Return which checkpoint evaluated best, or None. Raises CheckpointError if best.json is damaged."""
        path = self.folder / BEST
        with reading(path):
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                return None
            if size > LARGEST_BEST:
                raise ValueError(f"it has {size:,} bytes, expected at most {LARGEST_BEST:,}")
            best = msgspec.json.decode(path.read_bytes(), type=Best)
            if not NAME.fullmatch(best.name):
                raise ValueError(f"it names {best.name[:80]!r}, expected a checkpoint such as u00000120")
            return best

    def mark_best(self, path: Path, score: float, stage: int = 0) -> bool:
        """Remember this one as the best if none of its stage or a later one scored higher. Raises CheckpointError."""
        best = self._healed_best()
        if best is not None and (best.stage, best.score) > (stage, score) and (self.folder / best.name).exists():
            return False
        try:
            self._write_best(Best(path.name, score, stage))
        except OSError as error:
            raise CheckpointError(_failure(self.folder / BEST, error, self.names())) from error
        self._remove_old()
        return True

    def _path(self, version: int) -> Path:
        return self.folder / f"u{version:08d}"

    def _renew(self, final: Path, state: State, matches: Path | None) -> None:
        """Replace state and matches of a checkpoint. The write of its checksums decides which version counts."""
        try:
            checksums.settle(final)
            sums = checksums.load(final) or _sums_of(final, (MODEL, OPTIMISER, REPLAY))
            sums.pop(MATCHES, None)
            sums[STATE] = _write_state(pending(final / STATE), state)
            if matches is not None:
                matches.replace(pending(final / MATCHES))
                sums[MATCHES] = checksums.of_file(pending(final / MATCHES))
            checksums.write(final, sums)
            if matches is None:
                (final / MATCHES).unlink(missing_ok=True)
            checksums.publish(final, (MATCHES, STATE))
        except OSError as error:
            with contextlib.suppress(OSError, CheckpointError):
                checksums.settle(final)
            raise CheckpointError(_failure(final, error, self.names())) from error

    def _healed_best(self) -> Best | None:
        """Return the best checkpoint. A damaged best.json is set aside and made anew from the checkpoints' scores."""
        try:
            return self.best()
        except CheckpointError as error:
            best = self._best_by_scores()
            aside = self.folder / f"{BEST}.damaged"
            with contextlib.suppress(OSError):  # then the next call tries again
                (self.folder / BEST).replace(aside)
                if best is not None:
                    self._write_best(best)
            instead = "no checkpoint has scores" if best is None else f"{best.name} has the best scores"
            log.warning("%s; it is now %s, and %s", error, aside.name, instead)
            return best

    def forget_best(self, aside: Path) -> None:
        """Move best.json to a folder if the checkpoint that it names is gone; the best of the rest takes its place.

        Raises OSError.
        """
        best = self._healed_best()
        if best is None or best.name in self.names():
            return
        aside.mkdir(parents=True, exist_ok=True)
        (self.folder / BEST).replace(aside / BEST)
        best = self._best_by_scores()
        if best is not None:
            self._write_best(best)

    def _best_by_scores(self) -> Best | None:
        return best_by_scores([(name, _scores(self.folder / name)) for name in self.names()])

    def _write_best(self, best: Best) -> None:
        """Replace best.json atomically. Raises OSError."""
        path = self.folder / BEST
        files.replace(path, msgspec.json.encode(best), partial=pending(path), durable=True)

    def _remove_old(self) -> None:
        best = self._healed_best()
        for name in removable(self.names(), self._keep, best.name if best else None):
            with contextlib.suppress(OSError):  # renamed first, so that none is ever there in part
                (self.folder / name).rename(pending(self.folder / name))
        for unfinished in self.folder.glob(f"{UNFINISHED}u*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for name in self.names()[:-1]:  # a run is resumed from its latest, and these files are the largest by far
            for file in (self.folder / name / MATCHES, self.folder / name / REPLAY):
                for version in (file, pending(file)):
                    with contextlib.suppress(OSError):
                        version.unlink(missing_ok=True)


def best_by_scores(scores: Sequence[tuple[str, Mapping[str, float]]]) -> Best | None:
    """Return the checkpoint, of these from the oldest to the newest, whose latest evaluation had the highest mean.

    A checkpoint carries its last evaluation until the next one, so of equal means the oldest was the one evaluated.
    """
    means = [(name, sum(rates.values()) / len(rates)) for name, rates in scores if rates]
    return Best(*max(means, key=lambda each: each[1])) if means else None


def removable(names: Sequence[str], keep: int, best: str | None) -> list[str]:
    """Which of these, oldest first, need not stay."""
    return [name for name in names[:-keep] if name != best]


def _write_state(path: Path, state: State) -> FileSum:
    data = msgspec.json.format(msgspec.json.encode(state))
    files.write(path, data, durable=True)
    return checksums.of_bytes(data)


def _sums_of(folder: Path, names: Sequence[str]) -> dict[str, FileSum]:
    return {name: checksums.of_file(folder / name) for name in names if (folder / name).exists()}


def _scores(path: Path) -> Mapping[str, float]:
    try:
        return read_state(path).scores
    except CheckpointError:
        return {}


def _failure(path: Path, error: OSError, names: Sequence[str]) -> str:
    reason = "no space left on the disk" if error.errno == errno.ENOSPC else str(error)
    latest = f"{names[-1]} stays the latest" if names else "there is none yet"
    return f"checkpoint {path} was not written: {reason}; {latest}"
