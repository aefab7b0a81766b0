"""The settings that all hosts of a fleet share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.voided import VoidedMatches
from ludus.processes.command import HostCommand
from ludus.wire.facts import FactNames


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings, and two counters, that all hosts of a fleet share."""

    command: HostCommand
    options: Mapping[str, object]
    seed: int
    hosts: int  # of the run, which may have several fleets
    matches: int
    scheduled: bool
    keep_log: bool
    log_dir: Path
    times_s: float | None = None  # time between two reports of how a host spent its time; None: no reports
    parts: int = 1  # in which a host sends an answer (`fleet.parts`)
    events: bool = False  # True if hosts may send EVENT frames
    first_host: int = 0  # number, in the run, of the first host of this fleet
    facts: FactNames = field(default_factory=FactNames)
    voided: VoidedMatches = field(default_factory=VoidedMatches)

    def rows(self, host: int, slot: int, seats: int) -> NDArray[np.int32]:
        """Return the rows of a slot in the table of the fleet."""
        first = (host * self.matches + slot) * seats
        return np.arange(first, first + seats, dtype=np.int32)
