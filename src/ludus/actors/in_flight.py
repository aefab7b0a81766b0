"""The file with the running matches of a checkpoint: their state, who plays them, and the segments recorded so far.

<checkpoint>/matches.safetensors   metadata `note`: JSON of InFlightHeader
                                   tensors fleet.*, rollout.*, bank.hidden_state (recurrent nets), and past.N: the
                                   weights of past selves that still play but have left the pool
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from ludus import files
from ludus.actors.resolved import ResolvedRun
from ludus.errors import CheckpointError
from ludus.fleet import saved_state
from ludus.fleet.saved_state import FleetNote, FleetState
from ludus.league.matchmaking import MatchmakerState
from ludus.policies.bank import BankState
from ludus.policies.checkpoints import checksums, old_names
from ludus.policies.checkpoints.read_errors import reading


class ActorState(Struct, frozen=True):
    """The state of the actor's random generator and matchmaker: enough to continue a run with new matches."""

    sampling: str
    matchmaker: MatchmakerState
    reward: tuple[int, float] = (0, 0.0)  # number of matches of learning seats, and their recent mean reward

    def forget(self) -> ActorState:
        """Return the state for the start of a stage: random generators continue, win rates and rewards are reset."""
        matchmaker = msgspec.structs.replace(self.matchmaker, rates={})
        return msgspec.structs.replace(self, matchmaker=matchmaker, reward=(0, 0.0))


class InFlightHeader(Struct, frozen=True):
    """The contents of the file that are not arrays."""

    seeded: int  # the version that the seeds of fleet and policies were derived from
    game: str  # fingerprint
    segment: int  # decisions
    actor: ActorState
    scripted: dict[str, str]  # states of the scripted policies that use random numbers, by name
    bank: BankState
    fleet: FleetNote


@dataclass(frozen=True, slots=True)
class InFlight:
    """The running matches of an actor, and everything needed to continue them exactly."""

    note: InFlightHeader
    arrays: Mapping[str, NDArray[Any]]  # Any: columns of several types

    def arrays_of(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays whose names begin with `prefix`, and remove it from the names. Any: several dtypes."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}

    def fleet_state(self) -> FleetState:
        """Return the state of the fleet's matches. Raises KeyError, IndexError or ValueError if it is damaged."""
        return saved_state.unpack(self.note.fleet, self.arrays_of("fleet."))


def write(path: Path, saved: InFlight) -> None:
    """Write the matches to a file and fsync it. Raises OSError if that fails."""
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.arrays.items()}
    files.write(path, save(arrays, {"note": msgspec.json.encode(saved.note).decode()}), durable=True)


def read(path: Path, run: ResolvedRun) -> InFlight:
    """Read the matches that were in flight when a checkpoint was written.

    Raises CheckpointError if the file is missing, damaged, or from a run with another number of hosts, matches per host
    or decisions per segment.
    """
    with reading(path):
        with safe_open(checksums.verified(path), "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
            note = msgspec.json.decode((file.metadata() or {})["note"], type=InFlightHeader)
        matches = InFlight(note, old_names.current_arrays(tensors))
        matches.fleet_state()  # raises if the arrays do not fit together
    saved = (len(note.fleet.hosts), note.fleet.matches, note.segment)
    now = (run.hosts, run.config.fleet.matches, run.config.rollout.segment)
    if saved != now:
        words = "{} hosts of {} matches and segments of {}"
        raise CheckpointError(f"{path} has {words.format(*saved)}, the run now has {words.format(*now)}")
    return matches
