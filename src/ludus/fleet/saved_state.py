"""The state of a fleet's matches, from which other processes can continue them; in memory and as plain arrays.

A match is determined by its seed and the actions chosen in it, so these are saved. The rows that wait for an action are
saved as well: a replay of the actions must lead to the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ludus.spec import GameSpec
from ludus.types import Ending
from ludus.wire import bodies
from ludus.wire.bodies import ArrivalsBody, Resumption

NONE = -1
KINDS = {name: dtype.kind for name, dtype in bodies.COLUMNS.items()} | {  # numpy's kind of each array in the file
    "match": "i",
    "opens": "bu",
    "number": "i",
    "count": "i",
    "choice": "i",
    "came": "i",
    "final_obs": "u",
}
AXES = {"number": 2, "count": 2, "legal": 2, "obs": 2, "final_obs": 3}  # dimensions of arrays; others have one
Arrays = dict[str, NDArray[Any]]  # Any: columns of several types


@dataclass(frozen=True, slots=True)
class HostState:
    """The matches of one host that owes no answer. Rows are local to the host; endings have rows of the fleet."""

    incarnation: int
    following: int  # number of the next match
    number: NDArray[np.int64]  # [K] match that runs in each slot; NONE: the slot is free
    count: NDArray[np.int32]  # [K * S] number of actions that each row has chosen in its match
    choice: NDArray[np.int32]  # [sum of count] the actions, row after row
    waiting: ArrivalsBody  # rows that wait for an action and were not delivered to the fleet's caller
    endings: tuple[Ending, ...] = ()  # endings that were not delivered

    @property
    def seats(self) -> int:
        return len(self.count) // len(self.number)

    @property
    def runs(self) -> int:
        """The number of running matches."""
        return int(np.count_nonzero(self.number != NONE))

    @property
    def is_delivered(self) -> NDArray[np.bool_]:
        """True for each slot whose match is known to the fleet's caller: rows were delivered and answered [K]."""
        return np.asarray(self.count.reshape(len(self.number), -1).max(axis=1) > 0)

    def resumption(self) -> Resumption:
        """Return the matches with which the next process must begin, for its CONFIGURE frame."""
        return Resumption([None if number == NONE else number for number in self.number.tolist()], self.following)

    def without(self, slots: Collection[int]) -> HostState:
        """Return a copy without the matches in these slots."""
        is_dropped = np.isin(np.arange(len(self.number)), list(slots))
        rows = np.repeat(is_dropped, self.seats)
        return replace(
            self,
            number=np.where(is_dropped, NONE, self.number),
            count=np.where(rows, 0, self.count).astype(np.int32),
            choice=self.choice[~np.repeat(rows, self.count)],
            waiting=self.waiting.take(~rows[self.waiting.row]),
        )


@dataclass(frozen=True, slots=True)
class FleetState:
    """The matches of all hosts of a fleet."""

    seed: int
    hosts: tuple[HostState, ...]


def nothing_runs(spec: GameSpec, slots: int, incarnation: int, endings: tuple[Ending, ...]) -> HostState:
    """Return the state of a host that runs no match."""
    number, count = np.full(slots, NONE, np.int64), np.zeros(slots * spec.seats, np.int32)
    return HostState(
        incarnation, 0, number, count, np.empty(0, np.int32), ArrivalsBody.empty(spec.actions, spec.obs.nbytes), endings
    )


class EndingNote(Struct, frozen=True):
    """An Ending as JSON, without its final observations."""

    match: int
    row: int  # the first of its rows
    score: list[float]
    reward: list[float]
    truncated: bool
    seed: int
    facts: dict[str, float]
    log: str
    void: str
    out: list[int] = []


class HostNote(Struct, frozen=True):
    """The fields of a HostState that are not arrays."""

    incarnation: int
    following: int
    endings: list[EndingNote]


class FleetNote(Struct, frozen=True):
    """The fields of a FleetState that are not arrays."""

    seed: int
    matches: int  # slots of a host
    hosts: list[HostNote]


def pack(state: FleetState) -> tuple[FleetNote, Arrays]:
    """Split a state into a struct and arrays, for a file."""
    hosts = state.hosts
    note = FleetNote(
        state.seed,
        len(hosts[0].number),
        [HostNote(host.incarnation, host.following, [_note(ending) for ending in host.endings]) for host in hosts],
    )
    waiting = ArrivalsBody.concatenate([host.waiting for host in hosts])
    final = [ending.final_obs for host in hosts for ending in host.endings if ending.final_obs is not None]
    return note, {
        "number": np.stack([host.number for host in hosts]),
        "count": np.stack([host.count for host in hosts]),
        "choice": np.concatenate([host.choice for host in hosts]),
        "came": np.array([len(host.waiting.row) for host in hosts], np.int64),
        **waiting.columns(),
        "match": waiting.match.astype(np.int64),
        "final_obs": np.stack(final) if final else np.zeros((0, 0, 0), np.uint8),
    }


def unpack(note: FleetNote, arrays: Mapping[str, NDArray[Any]]) -> FleetState:
    """Return the state that `pack` was given. Any: columns of several types.

    Raises KeyError, IndexError or ValueError if the arrays do not fit together.
    """
    _check(note, arrays)
    final = iter(arrays["final_obs"])
    choices = np.cumsum([0, *arrays["count"].sum(axis=1).tolist()])
    rows = np.cumsum([0, *arrays["came"].tolist()])
    hosts = []
    for at, host in enumerate(note.hosts):
        span = slice(rows[at], rows[at + 1])
        columns = {name: arrays[name][span].astype(kind, copy=False) for name, kind in bodies.COLUMNS.items()}
        waiting = ArrivalsBody(**columns, done=True)
        hosts.append(
            HostState(
                host.incarnation,
                host.following,
                arrays["number"][at],
                arrays["count"][at],
                arrays["choice"][choices[at] : choices[at + 1]],
                waiting,
                tuple(_ending(ending, next(final) if ending.truncated else None) for ending in host.endings),
            )
        )
    return FleetState(note.seed, tuple(hosts))


def _check(note: FleetNote, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise KeyError or ValueError unless the arrays have the types, shapes and ranges that `pack` writes."""
    for name, kinds in KINDS.items():
        array, axes = arrays[name], AXES.get(name, 1)
        if array.dtype.kind not in kinds or array.ndim != axes:
            raise ValueError(f"fleet.{name} is {array.dtype} with {array.ndim} axes, expected {axes}")
    hosts, matches = len(note.hosts), note.matches
    number, count, counts, row = (arrays[name] for name in ("number", "count", "came", "row"))
    seats = count.shape[1] // max(matches, 1)
    if number.shape != (hosts, matches) or min(hosts, matches, seats) < 1 or count.shape != (hosts, matches * seats):
        raise ValueError(
            f"match numbers have the shape {number.shape} and choices {count.shape}; expected {hosts} hosts x "
            f"{matches} matches"
        )
    if (count < 0).any() or len(arrays["choice"]) != count.sum():
        raise ValueError(f"{len(arrays['choice'])} choices were made, the rows count {count.sum()}")
    columns = {len(arrays[name]) for name in bodies.COLUMNS}
    if len(counts) != hosts or (counts < 0).any() or columns != {int(counts.sum())}:
        raise ValueError(f"waiting rows have columns of {sorted(columns)}, the hosts count {counts.tolist()[:8]}")
    if ((row < 0) | (row >= matches * seats)).any():
        raise ValueError(f"a waiting row is none of 0 to {matches * seats - 1}")


def _note(ending: Ending) -> EndingNote:
    return EndingNote(
        ending.match,
        int(ending.rows[0]),
        ending.score.tolist(),
        ending.reward.tolist(),
        ending.truncated,
        ending.seed,
        dict(ending.facts),
        ending.log,
        ending.void,
        list(ending.out),
    )


def _ending(note: EndingNote, final_obs: NDArray[np.uint8] | None) -> Ending:
    return Ending(
        note.match,
        np.arange(note.row, note.row + len(note.score), dtype=np.int32),
        np.array(note.score, np.float32),
        np.array(note.reward, np.float32),
        note.truncated,
        note.seed,
        note.facts,
        final_obs,
        note.log,
        note.void,
        tuple(note.out),
    )
