"""Folders for what hosts say, where a user did not choose one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.errors import LudusError


@contextmanager
def temporary_log_folder(prefix: str) -> Iterator[Path]:
    """A folder that is gone afterwards, unless an error that leaves the block names it: then it is there to be read."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    is_named_in_error = False
    try:
        yield folder
    except LudusError as error:
        is_named_in_error = str(folder) in str(error)
        raise
    finally:
        if not is_named_in_error:
            shutil.rmtree(folder, ignore_errors=True)
