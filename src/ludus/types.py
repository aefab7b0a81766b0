"""The nouns that cross package borders. Shapes: n rows that arrived together, A actions, S seats.

What every batch is made of are structs of msgspec: a frozen dataclass takes eight times as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.columns import Columns, column


class Ending(msgspec.Struct, frozen=True):
    """A match that ended, or was lost with its host (then `void` says why and the scores mean nothing)."""

    match: int
    rows: NDArray[np.int32]  # [S]
    score: NDArray[np.float32]  # [S] 1 won, 0 lost, 0.5 tied
    reward: NDArray[np.float32]  # [S] earned since each seat's last decision
    truncated: bool
    seed: int
    facts: Mapping[str, float] = {}  # the game's numbers for the report (turns, refused ...)
    final_obs: NDArray[np.uint8] | None = None  # [S, nbytes] for truncated matches, to bootstrap from
    log: str = ""  # the game's own record, where asked for
    void: str = ""  # reason, for a match lost with its host
    out: tuple[int, ...] = ()  # of a truncated match: seats for which it had ended before, so nothing is bootstrapped


class Arrivals(msgspec.Struct, frozen=True):
    """Rows that must choose now. Endings happened before these rows arrived."""

    row: NDArray[np.int32]  # [n]
    match: NDArray[np.int64]  # [n] unique within a fleet
    obs: NDArray[np.uint8]  # [n, obs.nbytes]; spec.obs.view(obs)["moves"] -> [n, ...] without a copy
    legal: NDArray[np.bool_]  # [n, A], at least one True in every row: anything else is a host's error
    reward: NDArray[np.float32]  # [n] earned since that row's previous decision
    opens: NDArray[np.bool_]  # [n] first decision of that row in a match: recurrent state starts here
    endings: tuple[Ending, ...] = ()

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: NDArray[np.intp]) -> Arrivals:
        """The chosen rows, without endings."""
        return Arrivals(
            self.row[index],
            self.match[index],
            self.obs[index],
            self.legal[index],
            self.reward[index],
            self.opens[index],
        )


class Choices(msgspec.Struct, frozen=True):
    """What a policy chose, in the order of the arrivals it was given."""

    action: NDArray[np.int32]  # [n]
    logp: NDArray[np.float32]  # [n] log-probability of that action; 0 for scripted policies
    value: NDArray[np.float32]  # [n] expected return; 0 for scripted policies
    version: int = 0  # of the weights that chose
    memory: NDArray[np.float32] | None = None  # [n, size] what the rows remembered before; None without memory

    @classmethod
    def scripted(cls, action: NDArray[np.int32]) -> Choices:
        """Return the choices of a policy that has neither probabilities nor values: both are 0."""
        zeros = np.zeros(len(action), np.float32)
        return cls(action, logp=zeros, value=zeros)


class Policy(Protocol):
    """Vectorised: rows are independent and keep their order. Scripted opponents are policies too."""

    def act(self, arrivals: Arrivals) -> Choices: ...


@runtime_checkable
class Resumable(Protocol):
    """A policy that draws from a generator of its own may have these, too: a resumed run then goes on with the same
    draws. What a policy makes of the match and the row alone needs neither."""

    def state(self) -> str: ...

    def restore(self, state: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Pairing:
    """Who sits where in one match: one policy name a seat."""

    match: int
    policies: tuple[str, ...]


class Matchmaker(Protocol):
    """Rollout asks who plays, the league (or an arena) answers."""

    def pair(self, match: int) -> Pairing: ...

    def report(self, pairing: Pairing, ending: Ending) -> None: ...


@dataclass(frozen=True, slots=True)
class SegmentBatch(Columns):
    """B segments of T consecutive decisions of one row each. Time runs along axis 1.

    A new column is declared here and written in `rollout.segments`; allocation, copies, replay and checkpoints follow.
    """

    obs: NDArray[np.uint8] = column(np.uint8, "time", "obs_bytes")  # [B, T, nbytes]
    legal: NDArray[np.bool_] = column(np.bool_, "time", "actions", bits=True)  # [B, T, A]
    action: NDArray[np.int32] = column(np.int32, "time")  # [B, T]
    # [B, T] log-probability of the action under the policy that chose it
    logp: NDArray[np.float32] = column(np.float32, "time")
    value: NDArray[np.float32] = column(np.float32, "time")  # [B, T] value estimate of the policy that chose
    reward: NDArray[np.float32] = column(np.float32, "time")  # [B, T] earned between this decision and the next
    ends: NDArray[np.bool_] = column(np.bool_, "time")  # [B, T] True if the match ended after this decision
    # [B, T] value of the state in which a match was truncated, 0 elsewhere
    final_value: NDArray[np.float32] = column(np.float32, "time")
    opens: NDArray[np.bool_] = column(np.bool_, "time")  # [B, T] True for the first decision of a match
    version: NDArray[np.int64] = column(np.int64, "time")  # [B, T] version of the weights that chose
    # [B] value of the decision after the segment, 0 if the match ended with the segment
    next_value: NDArray[np.float32] = column(np.float32, late=True)
    # [B, size] hidden state before the first decision; size 0 for a net without one
    memory: NDArray[np.float32] = column(np.float32, "hidden_state")
    # [B, T] seat that decided, in segments that interleave the seats of a match; [B, 0] in others
    seat: NDArray[np.int8] = column(np.int8, "seats_time")
    # [B, T] in those segments: True if the outcome of the decision becomes known in this segment
    learns: NDArray[np.bool_] = column(np.bool_, "seats_time")

    @property
    def decisions(self) -> int:
        return int(self.action.size)

    def flat(self) -> Self:
        """Returns views without the time axis, [B * T, ...], of the columns that have one."""
        arrays = self.arrays()
        for name, each in self.columns().items():
            if each.timed:
                B, T, *rest = arrays[name].shape
                arrays[name] = arrays[name].reshape(B * T, *rest)
        return type(self)(**arrays)
