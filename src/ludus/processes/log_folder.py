"""Temporary folders for the logs of hosts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.errors import LudusError


@contextmanager
def temporary_log_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder and remove it afterwards.

    The folder is kept if a LudusError that names it leaves the block, so that its logs can be read.
    """
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
