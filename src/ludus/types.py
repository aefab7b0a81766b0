"""Types and interfaces that several packages use. Shapes: n rows that arrived together, A actions, S seats.

Types of which every batch makes some are msgspec structs, because those are much faster to create than frozen
dataclasses.
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
    """The end of a match. If it was voided (lost with its host), `void` is the reason and `score` has no meaning."""

    match: int  # number of the match, unique within a fleet
    rows: NDArray[np.int32]  # [S] the rows of its seats
    score: NDArray[np.float32]  # [S] 1 won, 0 lost, 0.5 tied
    reward: NDArray[np.float32]  # [S] reward since each seat's last decision
    truncated: bool  # True if a limit cut the match short
    seed: int  # seed of the match
    facts: Mapping[str, float] = {}  # numbers of the game for the report (turns, refused ...)
    final_obs: NDArray[np.uint8] | None = None  # [S, nbytes] last observations of a truncated match, for bootstrapping
    log: str = ""  # the game's own record of the match, if `keep_log` was set
    void: str = ""  # reason why the match was voided; empty for a finished match
    out: tuple[int, ...] = ()  # seats of a truncated match that had finished before; they are not bootstrapped


class Arrivals(msgspec.Struct, frozen=True):
    """A batch of rows that must choose an action now."""

    row: NDArray[np.int32]  # [n] indices of the rows
    match: NDArray[np.int64]  # [n] numbers of their matches, unique within a fleet
    obs: NDArray[np.uint8]  # [n, nbytes] packed observations; `spec.obs.view(obs)["moves"]` is [n, ...] without a copy
    legal: NDArray[np.bool_]  # [n, A] action masks, at least one True in every row
    reward: NDArray[np.float32]  # [n] reward since the row's previous decision
    opens: NDArray[np.bool_]  # [n] True for the row's first decision in a match: its hidden state is reset
    endings: tuple[Ending, ...] = ()  # matches that ended before these rows arrived

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: NDArray[np.intp]) -> Arrivals:
        """Return the rows at `index`, without endings."""
        return Arrivals(
            self.row[index],
            self.match[index],
            self.obs[index],
            self.legal[index],
            self.reward[index],
            self.opens[index],
        )


class Choices(msgspec.Struct, frozen=True):
    """The actions of a policy, in the order of the arrivals."""

    action: NDArray[np.int32]  # [n] actions
    logp: NDArray[np.float32]  # [n] log-probability of each action; 0 for scripted policies
    value: NDArray[np.float32]  # [n] value estimates; 0 for scripted policies
    version: int = 0  # version of the weights that chose
    hidden_state: NDArray[np.float32] | None = None  # [n, size] before the decision; None if not recurrent

    @classmethod
    def scripted(cls, action: NDArray[np.int32]) -> Choices:
        """Return the choices of a policy that has neither probabilities nor values: both are 0."""
        zeros = np.zeros(len(action), np.float32)
        return cls(action, logp=zeros, value=zeros)


class Policy(Protocol):
    """Anything that chooses actions: a net or a script. Rows are independent of each other."""

    def act(self, arrivals: Arrivals) -> Choices:
        """Choose an action for each row. The choices have the order of the arrivals."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """Optional methods of a policy with its own random generator, so that a resumed run continues with the same draws.

    A policy whose choices depend only on the match and the row does not need them.
    """

    def state(self) -> str:
        """Return the state of the generator, to be stored in a checkpoint."""
        ...

    def restore(self, state: str) -> None:
        """Restore a state that `state` returned."""
        ...


@dataclass(frozen=True, slots=True)
class Pairing:
    """The policies of one match."""

    match: int  # number of the match
    policies: tuple[str, ...]  # name of the policy of each seat


class Matchmaker(Protocol):
    """Decides who plays in each match. The rollout calls it; the league and the arena implement it."""

    def pair(self, match: int) -> Pairing:
        """Return the policy of every seat of a new match."""
        ...

    def report(self, pairing: Pairing, ending: Ending) -> None:
        """Receive the result of a match."""
        ...


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
    hidden_state: NDArray[np.float32] = column(np.float32, "hidden_state")
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
