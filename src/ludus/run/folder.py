"""Finds checkpoints in the folder of a run, and restores the folder if the run cannot start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ludus import files
from ludus.config.folders import CONFIG
from ludus.errors import CheckpointError, ConfigError, HostRefused, SetupError
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.run.lock import LOCK


@contextmanager
def as_found_when_refused(folder: Path) -> Iterator[None]:
    """Restore the folder if the run in this `with` block is refused before it writes a checkpoint.

    A new folder is removed, unless the error names a log in it. A resumed run gets its previous configuration back. The
    error is raised again; its traceback is in ludus.log.
    """
    existed = folder.is_dir() and any(path.name != LOCK for path in folder.iterdir())
    config = (folder / CONFIG).read_bytes() if (folder / CONFIG).is_file() else None
    checkpoint = latest(folder)
    try:
        yield
    except (CheckpointError, ConfigError, HostRefused, SetupError) as error:
        if latest(folder) == checkpoint:
            if not existed and str(folder / "logs") not in str(error):
                shutil.rmtree(folder, ignore_errors=True)
            elif config is not None:
                with suppress(OSError):
                    files.replace(folder / CONFIG, config)
        raise


def has_checkpoint(folder: Path) -> bool:
    """Return True if the folder has a checkpoint. A folder without one may be used for a new run."""
    return latest(folder) is not None


def latest(folder: Path) -> Path | None:
    """Return the latest checkpoint in a run's folder, or None if there is none."""
    return Checkpoints(folder, 1).latest()
