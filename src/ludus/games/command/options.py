"""Options of the game `command`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct


class CommandOptions(Struct, frozen=True, forbid_unknown_fields=True):
    command: str | tuple[str, ...] = ""  # the host and its arguments, as a line or as a list of words
    options: dict[str, Any] = msgspec.field(
        default_factory=dict
    )  # Any: options of the host, sent unchanged in CONFIGURE
    folder: str = ""  # working folder of the host; empty: the current folder of ludus
    profile: tuple[str, ...] = ()  # command that profiles a running host; empty: chosen by its program
    env: dict[str, str] = msgspec.field(default_factory=dict)  # added to its environment
