"""Names and creates the folders of runs."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from ludus.errors import ConfigError

RUNS = Path("runs")
CONFIG = "config.yaml"  # file in a run's folder


def new_run_dir(runs: Path, name: str, day: date) -> Path:
    """Create and return the first free folder <runs>/<name>-<date>-<n>. Raises ConfigError if it cannot be created.

    It is created at once so that two runs that start together do not share a folder.
    """
    number = 1
    while True:
        folder = runs / f"{name}-{day:%Y%m%d}-{number}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
        except OSError as error:
            raise ConfigError(_unwritable(folder, error)) from error


def _unwritable(folder: Path, error: OSError) -> str:
    reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
    return f"{folder} cannot be the folder of a run: {reason}; choose another with --run-dir"


def file_name(game: str) -> str:
    """Return the base name of folders for a game: gymnasium-my_module-MyEnv for gymnasium:my_module:MyEnv."""
    return re.sub(r"[^\w.]+", "-", game).strip("-")
