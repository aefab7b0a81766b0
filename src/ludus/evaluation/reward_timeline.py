"""The rewards of each seat in each turn of one match, by reward term, and the value estimates of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.interface import HostEvent
from ludus.types import Arrivals, Ending, Policy
from ludus.wire import terms as reward_terms

Series = NDArray[np.float64]  # [T, S] by turn and seat; the last turn is the end of the match


@dataclass(frozen=True, slots=True)
class Timeline:
    """The rewards of one match of S seats, over T turns."""

    reward: Series
    terms: Mapping[str, Series]  # weights included; empty if the game reports no terms
    value: Series | None  # estimates of a policy; NaN in turns in which a seat does not choose

    def totals(self) -> dict[str, list[float]]:
        """Return what each seat earned in the match: by term, and in total as `reward`."""
        sums = {name: series.sum(axis=0).tolist() for name, series in self.terms.items()}
        return {**sums, "reward": self.reward.sum(axis=0).tolist()}


class TimelineRecorder:
    """Collects the timeline of the only match of a fleet that was started with `events=True`.

    Call `turn` for each arrivals before they are answered, and `end` once, each with the events taken after `recv`.
    """

    def __init__(self, seats: int, match: int, values: Policy | None = None) -> None:
        self._seats, self._match, self._values = seats, match, values
        self._reward: list[Series] = []
        self._value: list[Series] = []
        self._terms: dict[str, dict[int, Series]] = {}  # by name and turn

    def turn(self, arrivals: Arrivals, events: Iterable[HostEvent]) -> None:
        """Record a turn. Raises ProtocolError if the host reported malformed terms."""
        seats = arrivals.row % self._seats
        reward, value = np.zeros(self._seats), np.full(self._seats, np.nan)
        reward[seats] = arrivals.reward
        if self._values is not None:
            value[seats] = self._values.act(arrivals).value
        self._add(reward, value, events)

    def end(self, ending: Ending, events: Iterable[HostEvent]) -> None:
        """Record the end of the match, as `turn` does."""
        self._add(np.asarray(ending.reward, np.float64), np.full(self._seats, np.nan), events)

    def timeline(self) -> Timeline:
        """Return what was recorded. Call it after `end`."""
        turns = len(self._reward)
        terms = {name: np.zeros((turns, self._seats)) for name in self._terms}
        for name, by_turn in self._terms.items():
            for turn, earned in by_turn.items():
                terms[name][turn] = earned
        return Timeline(np.stack(self._reward), terms, None if self._values is None else np.stack(self._value))

    def _add(self, reward: Series, value: Series, events: Iterable[HostEvent]) -> None:
        for event in events:
            report = reward_terms.read(event, self._seats)
            if report is not None and report[0] == self._match:
                self._earn(report[1])
        self._reward.append(reward)
        self._value.append(value)

    def _earn(self, terms: Mapping[str, Sequence[float]]) -> None:
        turn = len(self._reward)
        for name, values in terms.items():
            by_turn = self._terms.setdefault(name, {})
            by_turn[turn] = by_turn.get(turn, 0.0) + np.array(values, np.float64)
