"""What people bring who have a game written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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

    @property
    def over(self) -> bool:
        return self.score is not None


class Match(Protocol):
    """One match at a time; `start` again when it is over. An exception loses this match only."""

    def start(self, seed: int) -> Turn:
        """Same seed, same actions: same match."""
        ...

    def advance(self, actions: Mapping[int, int]) -> Turn:
        """Called when every seat of the last turn has chosen: seat -> action."""
        ...


@dataclass(frozen=True, slots=True)
class HostedGame:
    """A game whose options were read. Raise ConfigError while making one to refuse the configuration."""

    spec: GameSpec
    match: Callable[[], Match]  # called once for each slot
    facts: Mapping[str, Any] = field(default_factory=dict)  # Any: anything JSON holds, for the log


MakeGame = Callable[[Mapping[str, Any]], HostedGame]  # Any: options as they came in CONFIGURE
