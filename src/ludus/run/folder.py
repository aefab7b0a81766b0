"""What the folder of a run holds, and how it is left when the run is refused."""

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
    """A run that is refused before its first checkpoint leaves no folder, unless the error names a log in it; one that
    was to be resumed keeps the configuration it had. The error's traceback is in ludus.log all the same."""
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
    """A run that failed before its first checkpoint holds nothing worth keeping: its folder may be used again."""
    return latest(folder) is not None


def latest(folder: Path) -> Path | None:
    """The latest checkpoint in a run's folder."""
    return Checkpoints(folder, 1).latest()
