"""The checkpoints of one run. Each is written atomically; only the latest ones and the best are kept."""

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
    """The content of best.json."""

    name: str  # of the checkpoint
    score: float  # mean score of its evaluation
    stage: int = 0  # stage of the curriculum; any score of a later stage counts more


class Checkpoints:
    """The checkpoints of one run. Keeps the latest `keep` and the one that evaluated best."""

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
        """Write a checkpoint, remove those that are not kept, and return its folder.

        matches: a file with the running matches, written at the path that `staged` returned. replay: a file with the
        replay buffer, likewise. Both are moved into the checkpoint. If this version was saved before, only its state
        and matches are replaced, and only if `matches` or `between` is given. between: the run is between two stages
        of a curriculum, where no matches run; saved matches are removed.

        Raises CheckpointError if a file cannot be written; earlier checkpoints then stay valid.
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
        """Return the path at which to write the file of running matches, or of the replay buffer (`name`), before
        `save`. Raises OSError if the folder cannot be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{UNFINISHED}{name}"

    def holds(self, version: int) -> bool:
        """Return whether there is a checkpoint of this version."""
        return self._path(version).exists()

    def names(self) -> list[str]:
        """Return the names of all checkpoints, oldest first."""
        return names_in(self.folder)

    def latest(self) -> Path | None:
        """Return the folder of the latest checkpoint, or None if there is none."""
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
        """Write this checkpoint to best.json, unless the one there is of a later stage, or of this stage with a higher
        score. Returns whether it was written. Raises CheckpointError if best.json cannot be written."""
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
        """Replace state and matches of a checkpoint. The new files are valid from the moment its checksums are
        written."""
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
        """Return the content of best.json, or None. A damaged file is renamed and rebuilt from the checkpoints'
        scores."""
        try:
            return self.best()
        except CheckpointError as error:
            best = self._best_by_scores()
            aside = self.folder / f"{BEST}.damaged"
            with contextlib.suppress(OSError):  # the next call tries again
                (self.folder / BEST).replace(aside)
                if best is not None:
                    self._write_best(best)
            instead = "no checkpoint has scores" if best is None else f"{best.name} has the best scores"
            log.warning("%s; it is now %s, and %s", error, aside.name, instead)
            return best

    def forget_best(self, aside: Path) -> None:
        """If the checkpoint that best.json names is gone, move best.json to the folder `aside` and write a new one that
        names the best remaining checkpoint. Raises OSError.
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
        """Remove checkpoints that are not kept, and the large files of all but the latest."""
        best = self._healed_best()
        for name in removable(self.names(), self._keep, best.name if best else None):
            with contextlib.suppress(OSError):  # renamed first, so that no partly removed checkpoint is ever visible
                (self.folder / name).rename(pending(self.folder / name))
        for unfinished in self.folder.glob(f"{UNFINISHED}u*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for name in self.names()[:-1]:  # only the latest is resumed from, and these files are large
            for file in (self.folder / name / MATCHES, self.folder / name / REPLAY):
                for version in (file, pending(file)):
                    with contextlib.suppress(OSError):
                        version.unlink(missing_ok=True)


def best_by_scores(scores: Sequence[tuple[str, Mapping[str, float]]]) -> Best | None:
    """Return the checkpoint with the highest mean score, or None if none has scores. `scores` has the name and scores
    of each checkpoint, oldest first.

    Checkpoints repeat the scores of the latest evaluation until the next one. Of equal means, the oldest checkpoint
    wins, because it is the one that was evaluated.
    """
    means = [(name, sum(rates.values()) / len(rates)) for name, rates in scores if rates]
    return Best(*max(means, key=lambda each: each[1])) if means else None


def removable(names: Sequence[str], keep: int, best: str | None) -> list[str]:
    """Return the names, of these in order from oldest to newest, that are neither the latest `keep` nor `best`."""
    return [name for name in names[:-keep] if name != best]


def _write_state(path: Path, state: State) -> FileSum:
    data = msgspec.json.format(msgspec.json.encode(state))
    files.write(path, data, durable=True)
    return checksums.of_bytes(data)


def _sums_of(folder: Path, names: Sequence[str]) -> dict[str, FileSum]:
    return {name: checksums.of_file(folder / name) for name in names if (folder / name).exists()}


def _scores(path: Path) -> Mapping[str, float]:
    """Return the scores in a checkpoint's state; empty if it cannot be read."""
    try:
        return read_state(path).scores
    except CheckpointError:
        return {}


def _failure(path: Path, error: OSError, names: Sequence[str]) -> str:
    """Return the message for a checkpoint that could not be written. `names`: the checkpoints that exist."""
    reason = "no space left on the disk" if error.errno == errno.ENOSPC else str(error)
    latest = f"{names[-1]} stays the latest" if names else "the run has no checkpoint yet"
    return f"checkpoint {path} was not written: {reason}; {latest}"
