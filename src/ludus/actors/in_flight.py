"""Saves and loads the running matches of an actor: their state, who plays them, and the segments recorded so far.

matches.safetensors                metadata `note`: JSON of InFlightHeader
                                   tensors fleet.*, rollout.*, bank.hidden_state (recurrent nets), and past.N: the
                                   weights of past selves that still play but have left the pool

In a run with several actors, the file holds such a file of each as bytes (actors/saved_actors.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load, save

from ludus import files
from ludus.actors.resolved import ResolvedRun
from ludus.errors import CheckpointError
from ludus.fleet import saved_state
from ludus.fleet.saved_state import FleetNote, FleetState
from ludus.league.matchmaking import MatchmakerState
from ludus.policies.bank import BankState
from ludus.policies.checkpoints import checksums, old_names
from ludus.policies.checkpoints.read_errors import reading

ACTORS, OF_ACTOR = "actors", "actor-{}"  # metadata and arrays of the file of several actors


class _SafetensorsHeader(Struct, frozen=True):
    metadata: dict[str, str] = msgspec.field(name="__metadata__")


class ActorState(Struct, frozen=True):
    """The state of the actor's random generator and matchmaker: enough to continue a run with new matches."""

    sampling: str
    matchmaker: MatchmakerState
    reward: tuple[int, float] = (0, 0.0)  # number of matches of learning seats, and their recent mean reward

    def forget(self) -> ActorState:
        """Return the state for the start of a stage: random generators continue, win rates and rewards are reset."""
        return msgspec.structs.replace(self, matchmaker=self.matchmaker.forget(), reward=(0, 0.0))


Standing = tuple[int, float]  # number of matches, and a mean over the recent ones


def standing(states: Sequence[ActorState]) -> tuple[Standing, dict[str, Standing]]:
    """Return the learner's recent mean reward, and its win rate against each kind of opponent, over all actors."""
    rates: dict[str, list[Standing]] = {}
    for state in states:
        for name, rate in state.matchmaker.rates.items():
            rates.setdefault(name, []).append((rate.matches, rate.score))
    return _joined([state.reward for state in states]), {name: _joined(each) for name, each in rates.items()}


def _joined(standings: Sequence[Standing]) -> Standing:
    matches = sum(count for count, _ in standings)
    if len(standings) == 1 or not matches:
        return standings[0] if standings else (0, 0.0)
    return matches, sum(count * mean for count, mean in standings) / matches


class InFlightHeader(Struct, frozen=True):
    """The contents of the file that are not arrays."""

    seeded: int  # the version that the seeds of fleet and policies were derived from
    game: str  # fingerprint
    segment: int  # decisions
    actor: ActorState
    scripted: dict[str, str]  # states of the scripted policies that use random numbers, by name
    bank: BankState
    fleet: FleetNote
    first_host: int = 0  # number of the actor's first host in the run
    run_hosts: int = 0  # hosts of the run; 0: those of this file, since the run had one actor


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


def encode(saved: InFlight) -> bytes:
    """Return the matches as the bytes of a file."""
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.arrays.items()}
    return save(arrays, {"note": msgspec.json.encode(saved.note).decode()})


def decode(data: bytes) -> InFlight:
    """Return the matches that `encode` was given. Raises one of `read_errors.BAD_BYTES` if the bytes are damaged."""
    tensors = load(data)
    size = int.from_bytes(data[:8], "little")  # of the header, whose metadata the library returns for files only
    metadata = msgspec.json.decode(data[8 : 8 + size], type=_SafetensorsHeader).metadata
    note = msgspec.json.decode(metadata["note"], type=InFlightHeader)
    matches = InFlight(note, old_names.current_arrays(tensors))
    matches.fleet_state()  # raises if the arrays do not fit together
    return matches


def of_one_actor(path: Path, run: ResolvedRun) -> NDArray[np.uint8]:
    """Return a file like the one at `path`, with the matches of one actor (`run.share`) only, as bytes.

    Raises CheckpointError, as `read` does.
    """
    data = np.frombuffer(encode(read(path, run)), np.uint8)
    if run.actors.actors > 1:
        data = np.frombuffer(save({OF_ACTOR.format(run.share.actor): data}, {ACTORS: str(run.actors.actors)}), np.uint8)
    return data


def write(path: Path, saved: InFlight) -> None:
    """Write the matches to a file and fsync it. Raises OSError if that fails."""
    files.write(path, encode(saved), durable=True)


def read(path: Path, run: ResolvedRun) -> InFlight:
    """Read the matches of one actor (`run.share`) that were in flight when a checkpoint was written.

    Raises CheckpointError if the file is missing, damaged, or from a run with another number of actors, hosts, matches
    per host or decisions per segment.
    """
    with reading(path):
        verified = checksums.verified(path)
        with safe_open(verified, "np") as file:
            actors = int((file.metadata() or {}).get(ACTORS, 0))
            if (actors or 1) != run.actors.actors:
                raise CheckpointError(f"{path} is of {actors or 1} actors, the run now has {run.actors.actors}")
            if not actors:
                data = verified.read_bytes()
            elif (name := OF_ACTOR.format(run.share.actor)) in file.keys():  # noqa: SIM118  it is no mapping
                data = file.get_tensor(name).tobytes()
            else:
                raise CheckpointError(f"{path} was written while actor {run.share.actor} was not playing")
        matches = decode(data)
    note = matches.note
    hosts, share = len(note.fleet.hosts), run.share
    saved = (note.first_host, hosts, note.run_hosts or hosts, note.fleet.matches, note.segment)
    now = (share.first_host, share.hosts, run.hosts, run.config.fleet.matches, run.config.rollout.segment)
    if saved != now:
        words = "hosts from {} on: {} of {}, with {} matches each and segments of {}"
        raise CheckpointError(f"{path} has {words.format(*saved)}, the run now has {words.format(*now)}")
    return matches
