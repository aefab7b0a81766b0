"""The schedule of an evaluation: all its matches, numbered before the first begins. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.metrics.observer import ALONE


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every opponent x every seed x the agent in every team. A match's number identifies the combination."""

    opponents: tuple[str, ...]
    seeds: tuple[int, ...]  # the same for every opponent
    teams: tuple[int, ...]  # the team of each seat

    @classmethod
    def of(cls, opponents: Sequence[str], matches: int, seed: int, teams: Sequence[int] = (0, 1)) -> Schedule:
        """Make a schedule of `matches` against each opponent, with match seeds drawn from `seed`.

        The opponent plays all seats outside the agent's team.
        """
        teams = tuple(teams) if opponents else (0,)
        sides = len(set(teams))
        if matches < sides or matches % sides:
            raise ConfigError(f"matches: {matches} cannot be split over {sides} sides; take a multiple of {sides}")
        if len(set(opponents)) != len(opponents):
            raise ConfigError(f"opponents: each may be named once; got {', '.join(opponents)}")
        seeds = np.random.default_rng(seed).integers(0, 2**53, matches // sides)
        return cls(tuple(opponents) or (ALONE,), tuple(int(one) for one in seeds), teams)

    @property
    def seats(self) -> int:
        return len(self.teams)

    @property
    def sides(self) -> int:
        return len(set(self.teams))

    def __len__(self) -> int:
        return len(self.opponents) * len(self.seeds) * self.sides

    def matches(self) -> list[tuple[int, int]]:
        """Return (number, seed) of every match, in the order of their numbers."""
        return [(number, self.seeds[number // self.sides % len(self.seeds)]) for number in range(len(self))]

    def opponent(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        return number // (len(self.seeds) * self.sides)

    def agents(self, row: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the rows that the agent plays."""
        own: NDArray[np.bool_] = np.array(self.teams)[row % self.seats] == number % self.sides
        return own

    def place(self, number: int) -> tuple[int, list[int]]:
        """Return the index of a match's opponent and the seats of the agent."""
        seats = [seat for seat, team in enumerate(self.teams) if team == number % self.sides]
        return number // (len(self.seeds) * self.sides), seats

    def names(self, number: int, agent: str) -> list[str]:
        """Return the name of the policy of each seat."""
        opponent, seats = self.place(number)
        return [agent if seat in seats else self.opponents[opponent] for seat in range(self.seats)]

    def seating(self, agent: str) -> ScheduleSeating:
        """Return who plays which row, for `evaluation.playing`."""
        return ScheduleSeating(self, agent)

    def sample(self, count: int) -> list[int]:
        """Return at most `count` match numbers, the same number for each opponent, independent of the results."""
        each = len(self.seeds) * self.sides
        order = [opponent * each + index for index in range(each) for opponent in range(len(self.opponents))]
        return order[:count]


@dataclass(frozen=True, slots=True)
class ScheduleSeating:
    """A schedule with the name of its agent."""

    schedule: Schedule
    agent: str

    @property
    def players(self) -> tuple[str, ...]:
        """Return the agent, then its opponents; an agent that also is an opponent is in it twice."""
        return (self.agent, *(name for name in self.schedule.opponents if name != ALONE))

    def __len__(self) -> int:
        return len(self.schedule)

    def player(self, row: NDArray[np.int32], match: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `players` of the policy of each row."""
        return np.where(self.schedule.agents(row, match), 0, 1 + self.schedule.opponent(match))


def evenly(matches: int, teams: Sequence[int]) -> int:
    """Round up to a number of matches in which every seed is played once from every side."""
    sides = len(set(teams))
    return -(-matches // sides) * sides
