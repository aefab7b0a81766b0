"""What people bring who have a game written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus.spec import GameSpec


@dataclass(frozen=True, slots=True)
class Turn:
    """What happened, and who must choose now. `seats` is empty exactly when the match is over."""

    seats: tuple[int, ...]  # m seats, asked at once
    obs: NDArray[np.uint8]  # [m, nbytes]; when truncated: [S, nbytes], the state in which the match stopped
    legal: NDArray[np.bool_]  # [m, A]; not read when over
    reward: NDArray[np.float32]  # [S] earned since the turn before, by seats that must choose and those that need not
    score: tuple[float, ...] | None = None  # [S] when over: 1 won, 0 lost, 0.5 tied
    truncated: bool = False
    facts: Mapping[str, float] = field(default_factory=dict)  # when over, for the report
    log: str = ""  # when over, the game's own record
    out: tuple[int, ...] = ()  # when truncated: seats for which it had ended before, as for an agent that died

    @property
    def over(self) -> bool:
        return self.score is not None


class Match(Protocol):
    """One match at a time; `start` again when it is over. An exception, or a turn that cannot be, loses this match
    only. A match may have a `close()`, called once when the host is told to stop.
    """

    def start(self, seed: int) -> Turn:
        """Same seed, same actions: same match."""
        ...

    def advance(self, actions: Mapping[int, int]) -> Turn:
        """Called when every seat of the last turn has chosen: seat -> action."""
        ...


class AsyncMatch(Protocol):
    """As `Match`, for games behind a socket: all matches of a host wait at the same time in one event loop, and a row
    goes out when it is ready. One that is past its deadline is cancelled and lost; so is every one when the host stops.
    `close()` may be async, too.
    """

    async def start(self, seed: int) -> Turn: ...

    async def advance(self, actions: Mapping[int, int]) -> Turn: ...


@dataclass(frozen=True, slots=True)
class GroupTurn:
    """What n matches of a group have come to, in the order in which they were named."""

    obs: NDArray[np.uint8]  # [n, S, nbytes]; not read of matches that are over or lost
    legal: NDArray[np.bool_]  # [n, S, A]; as above
    reward: NDArray[np.float32]  # [n, S]; as above
    over: Mapping[int, Turn] = field(default_factory=dict)  # place in that order -> how it ended
    lost: Mapping[int, BaseException] = field(default_factory=dict)  # place in that order -> why


class MatchGroup(Protocol):
    """All matches of a host as one object, for games that do the work of many matches in one array operation. Every
    seat of a match is asked in each of its turns. What is raised ends the host, so a fault of one match is to be
    returned in `lost`. A group may have a `close()`, as a match may.
    """

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> GroupTurn:
        """Begin a match in each of these slots. Same seed, same actions: same match, whoever plays in other slots."""
        ...

    def advance(self, slots: Sequence[int], actions: NDArray[np.int32]) -> GroupTurn:
        """Called with slots of which every seat has chosen: actions [n, S]."""
        ...


@dataclass(frozen=True, slots=True)
class HostedGame:
    """A game whose options were read. Raise ConfigError while making one to refuse the configuration."""

    spec: GameSpec
    match: Callable[[], Match | AsyncMatch] | None = None  # for each slot, and again where a match does not return
    facts: Mapping[str, Any] = field(default_factory=dict)  # Any: anything JSON holds, for the log
    threads: bool = False  # synchronous matches that wait, each in a thread of its own: rows go out when they are ready
    deadline_s: float = 20.0  # for one start or advance of matches that wait; less than fleet.reply_deadline_s
    gather_s: float = 0.001  # for which a ready row waits for more, while other matches are at work
    group: Callable[[int], MatchGroup] | None = None  # in place of `match`: slots -> all matches of the host in one


MakeGame = Callable[[Mapping[str, Any]], HostedGame]  # Any: options as they came in CONFIGURE


def packed(spec: GameSpec, rows: Sequence[Mapping[str, ArrayLike]]) -> NDArray[np.uint8]:
    """[m, nbytes] from the leaves of m observations by name; leaves that are left out are zeros."""
    out = np.zeros((len(rows), spec.obs.nbytes), np.uint8)
    for index, row in enumerate(rows):
        for name, values in row.items():
            spec.obs.write(out[index], name, values)
    return out
