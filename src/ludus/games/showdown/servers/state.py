"""Files in which the keeper of a user's servers describes them to other commands.

<LUDUS_HOME>/servers/keeper.lock   held by the keeper as long as it lives
<LUDUS_HOME>/servers/state.json    who it is and how its servers are, written again every two seconds
<LUDUS_HOME>/servers/keeper.log    what it did
<LUDUS_HOME>/servers/logs/         what each server said
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from ludus import files
from ludus.errors import SetupError
from ludus.games import cache
from ludus.games.showdown.servers.fleet import ServerView

SAME_START_S = 2.0  # the system's clock may have been set between two looks at when a process began


class KeeperState(msgspec.Struct, frozen=True):
    pid: int
    began: float  # as psutil says it; with the pid it names one process
    servers: Sequence[ServerView] = ()

    @property
    def alive(self) -> bool:
        try:
            return abs(psutil.Process(self.pid).create_time() - self.began) < SAME_START_S
        except psutil.Error:
            return False


def folder() -> Path:
    """Return the folder of the servers' state. Does not create it."""
    return cache.home() / "servers"


def is_kept() -> bool:
    """Return whether a keeper is running, which holds a lock that the system releases when it dies."""
    path = folder() / "keeper.lock"
    if not path.exists():
        return False
    try:
        with cache.exclusive(path, 0.0):
            return False
    except SetupError:
        return True


def read() -> KeeperState | None:
    """Return the state that the latest keeper wrote, dead or alive, or None if there is none."""
    try:
        return msgspec.json.decode((folder() / "state.json").read_bytes(), type=KeeperState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def write(state: KeeperState) -> None:
    """Replace the state file atomically."""
    files.replace(folder() / "state.json", msgspec.json.encode(state))


def remove() -> None:
    with suppress(FileNotFoundError):
        (folder() / "state.json").unlink()
