"""Options of a host that is named by its command."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct


class CommandOptions(Struct, frozen=True, forbid_unknown_fields=True):
    command: str | tuple[str, ...] = ""  # the host and its arguments, as a line or as a list of words
    options: dict[str, Any] = msgspec.field(default_factory=dict)  # Any: the host's own, sent to it as they stand
    folder: str = ""  # in which it is started; empty: the folder that ludus is started in
    env: dict[str, str] = msgspec.field(default_factory=dict)  # added to its environment
