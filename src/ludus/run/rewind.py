"""Resume a run from an older checkpoint. Later checkpoints are moved aside, so that two histories do not mix."""

from __future__ import annotations

import logging
from pathlib import Path

from ludus.errors import CheckpointError
from ludus.league.pool import Pool
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import CHECKPOINTS

POOL = "pool"
ASIDE = "set-aside-"
log = logging.getLogger(__name__)


def find(run_dir: Path, name: str) -> Path:
    """Return the checkpoint of a run with this name (u00000120) or path.

    Raises CheckpointError, which lists the checkpoints, if the run has no such checkpoint.
    """
    folder = run_dir / CHECKPOINTS
    names = checkpoint.names_in(folder)
    for candidate in (folder / name, run_dir / name, Path(name)):
        if candidate.name in names and candidate.resolve() == (folder / candidate.name).resolve():
            return folder / candidate.name
    choices = ", ".join(names) or "none"
    raise CheckpointError(f"--resume-from {name}: {run_dir} has no such checkpoint; there are {choices}")


def set_aside(run_dir: Path, checkpoint_path: Path) -> Path | None:
    """Move checkpoints and past selves that are newer than the chosen checkpoint into a folder beside them.

    Returns that folder, or None if there was nothing to move. Raises CheckpointError if a file cannot be moved.
    """
    names = checkpoint.names_in(run_dir / CHECKPOINTS)
    version = int(checkpoint_path.name[1:])
    pool = Pool(run_dir / POOL, 1)
    later = [run_dir / CHECKPOINTS / name for name in names if int(name[1:]) > version]
    past = [pool.path(each) for each in pool.versions() if each > version]
    if not later and not past:
        return None
    aside = _free_folder(run_dir)
    try:
        for path in reversed(
            (*past, *later)
        ):  # newest checkpoint first: after a failure, the remaining files are still a valid run
            target = aside / path.relative_to(run_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        Checkpoints(run_dir, 1).forget_best(aside)
    except OSError as error:
        raise CheckpointError(f"cannot move aside the checkpoints newer than {checkpoint_path}: {error}") from error
    log.warning(
        "the run goes on from %s; %d later checkpoints and %d later past selves were moved to %s",
        checkpoint_path.name,
        len(later),
        len(past),
        aside,
    )
    return aside


def _free_folder(run_dir: Path) -> Path:
    number = 1
    while (run_dir / f"{ASIDE}{number}").exists():
        number += 1
    return run_dir / f"{ASIDE}{number}"
