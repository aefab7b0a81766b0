"""Checks that a command can write its output files, before anything is installed or started."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ludus import files
from ludus.errors import ConfigError


def check_folder(path: Path, option: str) -> None:
    """Raise ConfigError, which names the option, unless this folder can be written to or created."""
    try:
        if path.is_symlink() and not path.exists():
            raise ConfigError(f"{option}: {path} is a link to nothing; name a folder")
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise ConfigError(f"{option}: {path}: {files.reason(error)}; name another folder") from error
    nearest = path.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    what = "" if nearest == path.absolute() else f", which is needed for {path}"
    if not nearest.is_dir():
        raise ConfigError(f"{option}: {nearest} is a file, not a folder{what}; name another folder")
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        raise ConfigError(f"{option}: {nearest} cannot be written{what}: {files.reason(error)}") from error


def check_file(path: Path, option: str) -> None:
    """Raise ConfigError, which names the option, unless this file can be written or created."""
    try:
        if path.is_dir():
            raise ConfigError(f"{option}: {path} is a folder; name a file")
        if path.exists() and not os.access(path, os.W_OK):
            raise ConfigError(f"{option}: {path} cannot be written; name another file")
    except OSError as error:
        raise ConfigError(f"{option}: {path}: {files.reason(error)}; name another file") from error
    check_folder(path.parent, option)
