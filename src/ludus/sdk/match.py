"""The interfaces that a game written in Python implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus.spec import GameSpec


@dataclass(frozen=True, slots=True)
class Turn:
    """The state of a match: the seats that must choose now, or the result."""

    seats: tuple[int, ...]  # the m seats that must choose; empty exactly if the match is over
    obs: NDArray[np.uint8]  # [m, nbytes] their observations; if truncated: [S, nbytes], the last state of all seats
    legal: NDArray[np.bool_]  # [m, A] their action masks; ignored if the match is over
    reward: NDArray[np.float32]  # [S] reward of every seat since the previous turn
    score: tuple[float, ...] | None = None  # [S] if the match is over: 1 won, 0 lost, 0.5 tied
    truncated: bool = False  # True if a limit cut the match short
    facts: Mapping[str, float] = field(default_factory=dict)  # numbers for the report, if the match is over
    log: str = ""  # the game's own record, if the match is over
    out: tuple[int, ...] = ()  # if truncated: seats that had finished before, such as agents that died
    terms: Mapping[str, Sequence[float]] = field(default_factory=dict)  # [S] by name: named parts of the reward

    @property
    def over(self) -> bool:
        """True if the match has ended."""
        return self.score is not None


class Match(Protocol):
    """A game that plays one match at a time. `start` is called again after a match is over.

    An exception or an invalid turn voids this match only. A match may have a method `close()`, which is called once
    when the host stops.
    """

    def start(self, seed: int) -> Turn:
        """Begin a match and return its first turn. The same seed and the same actions must give the same match."""
        ...

    def advance(self, actions: Mapping[int, int]) -> Turn:
        """Apply the actions, seat -> action, of all seats of the last turn, and return the next turn."""
        ...


class AsyncMatch(Protocol):
    """A `Match` with async methods, for games that wait, for example for a socket.

    All matches of a host wait at the same time in one event loop, and each row is sent as soon as it is ready. A match
    that exceeds its deadline is cancelled and voided. All matches are cancelled when the host stops. `close()` may be
    async too.
    """

    async def start(self, seed: int) -> Turn: ...

    async def advance(self, actions: Mapping[int, int]) -> Turn: ...


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """The named parts of the rewards of a `GroupTurn`."""

    names: Sequence[str]
    earned: NDArray[np.float32]  # [n, S, terms]; ignored for matches in `lost`


@dataclass(frozen=True, slots=True)
class GroupTurn:
    """The turns of n matches of a group, in the order of the slots in the call.

    The arrays are ignored for matches in `over` and `lost`.
    """

    obs: NDArray[np.uint8]  # [n, S, nbytes] observations
    legal: NDArray[np.bool_]  # [n, S, A] action masks
    reward: NDArray[np.float32]  # [n, S] rewards since the previous turn
    over: Mapping[int, Turn] = field(default_factory=dict)  # index in that order -> last turn of a finished match
    lost: Mapping[int, BaseException] = field(default_factory=dict)  # index in that order -> error of a failed match
    terms: GroupTerms | None = None  # sent if the fleet asks for them; a group reports facts of its terms itself


class MatchGroup(Protocol):
    """All matches of a host in one object, for games that advance many matches in one array operation.

    Every seat of a match must choose in each turn. An exception ends the host, so return errors of single matches in
    `lost`. A group may have a method `close()`, as a match may.
    """

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        """Begin a match in each of these slots.

        The same seed and the same actions must give the same match, whatever happens in other slots.
        """
        ...

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        """Apply the actions [n, S] of these slots and return their next turns."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A match or a group with a method `close`, which the host calls before it discards the object. It is optional."""

    def close(self) -> object:
        """Free what the object holds. An AsyncMatch may return an awaitable."""
        ...


# Sends a JSON object to whoever started the fleet, from any thread; does nothing unless they asked for events.
SendEvent = Callable[[Mapping[str, Any]], None]  # Any: anything JSON holds


@dataclass(frozen=True, slots=True)
class HostedGame:
    """A game whose options were read. Raise ConfigError while making one to refuse the configuration."""

    spec: GameSpec
    match: Callable[[], Match | AsyncMatch] | None = None  # called for each slot, and to replace a match that hangs
    facts: Mapping[str, Any] = field(default_factory=dict)  # Any: anything JSON holds, for the log
    threads: bool = False  # True to run each match in a thread of its own, for synchronous matches that wait
    deadline_s: float = 20.0  # limit for one start or advance of matches that wait; less than fleet.reply_deadline_s
    gather_s: float = 0.001  # longest time that a ready row waits for others, so that they share a frame
    group: Callable[[int], MatchGroup] | None = None  # instead of `match`: number of slots -> group of all matches
    events: Callable[[SendEvent], None] | None = None  # called once, with a function that sends events to the fleet


MakeGame = Callable[[Mapping[str, Any]], HostedGame]  # Any: options from CONFIGURE


def packed(spec: GameSpec, rows: Sequence[Mapping[str, ArrayLike]]) -> NDArray[np.uint8]:
    """Pack m observations, each with its leaves by name, into rows [m, nbytes]. Missing leaves are zeros."""
    out = np.zeros((len(rows), spec.obs.nbytes), np.uint8)
    for index, row in enumerate(rows):
        for name, values in row.items():
            spec.obs.write(out[index], name, values)
    return out
