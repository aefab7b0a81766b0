"""How a host is started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ISOLATED = (sys.executable, "-P", "-m")  # -P: modules of the current folder cannot take the place of ours


@dataclass(frozen=True, slots=True)
class HostCommand:
    """`argv` must become the host itself: a wrapper that forks would outlive its parent's sudden death."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # added to the environment of the parent
    cwd: Path | None = None  # None: that of the parent
    options: Mapping[str, Any] | None = None  # Any: for CONFIGURE; None: the game's own, as they stand


def python_host(module: str) -> HostCommand:
    """A host that is a module of an installed package."""
    return HostCommand((*ISOLATED, module))
