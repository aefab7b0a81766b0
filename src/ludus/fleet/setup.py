"""The settings that all hosts of a fleet share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ludus.processes.command import HostCommand
from ludus.wire.facts import FactNames


@dataclass(frozen=True, slots=True)
class Setup:
    """What all hosts of a fleet have in common."""

    command: HostCommand
    options: Mapping[str, object]
    seed: int
    hosts: int
    matches: int
    scheduled: bool
    keep_log: bool
    log_dir: Path
    times_s: float | None = None  # how often hosts say where their time went
    parts: int = 1  # in which hosts answer
    facts: FactNames = field(default_factory=FactNames)
