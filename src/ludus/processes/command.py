"""The command that starts a host."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ISOLATED = (sys.executable, "-P", "-m")  # -P: modules in the current folder cannot shadow ours


@dataclass(frozen=True, slots=True)
class HostCommand:
    """A command that starts a host.

    `argv` must start the host itself: a host that is the child of a wrapper would outlive ludus.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # added to the environment of the parent
    cwd: Path | None = None  # None: the working directory of the parent
    options: Mapping[str, Any] | None = None  # for CONFIGURE; None: the options of the game. Any: each game has its own
    profile: tuple[str, ...] = ()  # how to profile a running host: {pid}, {seconds}, {file}; empty: by its program


def python_host(module: str) -> HostCommand:
    """Return the command of a host that is a module of an installed package."""
    return HostCommand((*ISOLATED, module))
