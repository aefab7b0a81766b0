"""The contents of frames as Python objects: one class for each kind of frame that has a body of its own. Pure.

`frames` encodes and decodes them. docs/host-protocol.md describes every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import HostFault, ProtocolError
from ludus.spec import GameSpec
from ludus.wire import described
from ludus.wire.durations import Durations

VERSION = 2  # of the protocol
HOST_ACTIVITIES = frozenset({"wait", "simulate", "encode", "mask", "send"})  # names allowed in TIMES

Number = Annotated[int, Meta(ge=0, le=limits.MATCH_NUMBER)]  # of a match
Seed = Annotated[int, Meta(ge=0, le=limits.SEED)]
Place = Annotated[int, Meta(ge=-(2**31), lt=2**31)]  # a slot or a seat; the ledger checks the range


class Resumption(msgspec.Struct, frozen=True):
    """The matches with which a host continues, instead of match 0: those of an earlier process that was stopped."""

    open: list[int | None]  # for each slot, the number of its first match; None: the next number that is free
    following: int  # the smallest number that no match has had


class Configure(msgspec.Struct, frozen=True):
    """The first frame of the fleet: options and seed of the host."""

    matches: int
    options: dict[str, Any]  # Any: the game's own struct checks it
    seed: int  # < 2**53, so that JavaScript reads it exactly
    schedule: list[tuple[int, int]] | None = None  # (number, seed): play exactly these, in order
    keep_log: bool = False
    resume: Resumption | None = None  # not together with a schedule
    times_s: float | None = None  # seconds between TIMES frames; None: send none
    parts: int = 1  # number of frames in which to answer ACTIONS, if the host can; 1: all rows at once
    memory: int | None = None  # descriptor of shared memory for observations; ACTIONS names the room to write to
    events: bool = False  # whether the host may send EVENT frames
    protocol: int = VERSION


class TableBody(msgspec.Struct, frozen=True):
    shape: list[int]
    data: bytes  # float32; base64 in JSON


class Hello(msgspec.Struct, frozen=True):
    """The first frame of a host, its answer to CONFIGURE: the description of its game."""

    protocol: int
    name: str
    seats: int
    actions: int
    schema: int
    obs: list[tuple[str, str, list[int]]]
    layout: dict[str, Any] = {}  # Any: the game's own constants
    tables: dict[str, TableBody] = {}
    facts: dict[str, Any] = {}  # Any: for the log (versions, path of the simulator)
    memory: bool = False  # True if it writes observations to the shared memory that CONFIGURE offers
    drains: bool = False  # True if it understands DRAIN

    def spec(self) -> GameSpec:
        """Return the game that this frame describes. Raises ProtocolError if it is invalid or exceeds `limits`."""
        if self.protocol != VERSION:
            message = f"host speaks protocol {limits.clipped(self.protocol)}, this fleet speaks {VERSION}"
            raise ProtocolError(message, HostFault.BAD_HELLO)
        described.check_numbers(self.seats, self.actions, self.schema)
        described.check_name("its game", self.name)
        described.check_depth("layout of HELLO", self.layout)
        described.check_depth("facts of HELLO", self.facts)
        if len(self.tables) > limits.TABLES:
            raise ProtocolError(
                f"HELLO has {len(self.tables):,} tables, allowed are {limits.TABLES}", HostFault.BAD_HELLO
            )
        obs = described.packed(self.obs)
        tables = {name: described.table(name, table.shape, table.data) for name, table in self.tables.items()}
        spec = GameSpec(self.name, self.seats, self.actions, obs, self.schema, self.layout, tables, self.facts)
        assert spec.teams  # raises ProtocolError for teams that make no sense
        return spec


class ArrivalsBody(NamedTuple):
    """The n rows of an ARRIVALS frame.

    Rows are local to the host: slot * seats + seat. `legal` is a bit mask: bit i of byte j is action 8j+i.
    """

    row: NDArray[np.int32]  # [n]
    match: NDArray[np.uint32]  # [n] match numbers
    reward: NDArray[np.float32]  # [n]
    opens: NDArray[np.uint8]  # [n] 1 at a row's first decision in a match, else 0; the ledger checks it
    legal: NDArray[np.uint8]  # [n, ceil(A/8)]
    obs: NDArray[np.uint8]  # [n, nbytes]
    done: bool  # True if this frame completes the answer to an ACTIONS frame (or the opening)

    @classmethod
    def empty(cls, actions: int, nbytes: int) -> ArrivalsBody:
        """Return a complete body without rows, for a game with these sizes."""
        sizes = {"legal": (actions + 7) // 8, "obs": nbytes}
        columns = {name: np.empty((0, sizes[name]) if name in sizes else 0, kind) for name, kind in COLUMNS.items()}
        return cls(**columns, done=True)

    @classmethod
    def concatenate(cls, bodies: Sequence[ArrivalsBody]) -> ArrivalsBody:
        """Return the rows of at least one body, in order, as one complete body."""
        return cls(**{name: np.concatenate([getattr(body, name) for body in bodies]) for name in COLUMNS}, done=True)

    def take(self, index: NDArray[np.bool_] | slice) -> ArrivalsBody:
        """Return the rows at `index`; `done` stays."""
        return ArrivalsBody(**{name: array[index] for name, array in self.columns().items()}, done=self.done)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name. Any: columns of several types."""
        return {name: getattr(self, name) for name in COLUMNS}


# Little-endian dtype of every column of an ARRIVALS frame, in the order of the frame. Any: several types.
COLUMNS: dict[str, np.dtype[Any]] = {
    "row": np.dtype("<i4"),
    "match": np.dtype("<u4"),
    "reward": np.dtype("<f4"),
    "opens": np.dtype("u1"),
    "legal": np.dtype("u1"),
    "obs": np.dtype("u1"),
}


class EndingHead(msgspec.Struct, frozen=True):
    """The JSON part of an ENDING frame."""

    slot: Place
    number: Number
    score: list[float]
    reward: list[float]
    truncated: bool
    seed: Seed
    facts: dict[str, float] = {}
    log: Annotated[str, Meta(max_length=limits.LOG_CHARS)] = ""
    out: list[Place] = []  # seats that had finished before a match was truncated


class ErrorBody(msgspec.Struct, frozen=True):
    """An ERROR frame: the host refuses its configuration, gives up one match, or has failed itself."""

    message: str
    kind: Literal["configuration", "match", "internal"]
    slot: Place | None = None  # of the match that is given up
    number: Number | None = None  # of that match
    again: bool = False  # True if the host will start this scheduled match once more


class TimesBody(msgspec.Struct, frozen=True):
    """The times of a host's activities since its last TIMES frame, or since it began its matches."""

    wall_ns: float
    # Keys are names in HOST_ACTIVITIES. Protocol version 2 calls this field `stages`.
    activities: dict[str, Durations] = msgspec.field(name="stages")
