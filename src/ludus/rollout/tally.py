"""Turns the outcomes of matches into metrics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.fleet.interface import FleetHealth
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import MATCH_TIME
from ludus.policies.bank import PolicyBank
from ludus.types import Arrivals, Ending

REWARD_WINDOW = 200  # approximate number of matches that the recent reward averages over


class MatchMetrics:
    """Counts matches by outcome.

    `recent` is the number of matches of learning seats and their mean reward, an exponential moving average after the
    first `REWARD_WINDOW` matches.
    """

    def __init__(self, metrics: Metrics, rows: int, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._metrics = metrics
        self._earned = np.zeros(rows, np.float64)  # reward of each row in its current match
        self._decisions = np.zeros(rows, np.int64)
        self._began_ns = np.zeros(rows, np.int64)  # time of the first decision; 0: unknown, as after a resume
        self._clock_ns = clock_ns
        self.recent = (0, 0.0)

    def count(self, arrivals: Arrivals, bank: PolicyBank) -> None:
        """Count finished matches. Call before `bank.end`, which forgets who played them."""
        for ending in arrivals.endings:
            self._end(ending, bank)
        n = len(arrivals)
        if n:
            self._began_ns[arrivals.row[arrivals.opens]] = self._clock_ns()
            self._earned[arrivals.row] += arrivals.reward
            self._decisions[arrivals.row] += 1
            self._metrics.add(names.DECISIONS, n)
            self._metrics.observe(names.BATCH_ROWS, n)

    def count_voided(self, health: FleetHealth) -> None:
        """Count the matches that the fleet has voided since the last call, by reason.

        A match that was voided before any of its rows arrived counts as begun, too.
        """
        if not health.voided:
            return
        reasons: Counter[str] = Counter()
        for reason, matches in health.voided.items():
            reasons[reason.partition(":")[0]] += matches  # "host: its message" is counted as host
        for reason, matches in reasons.items():
            self._metrics.grow(names.VOIDED_BY(reason), matches)
        self._metrics.grow(names.VOIDED, reasons.total())
        self._metrics.grow(names.BEGUN, health.unseen)

    @property
    def under_way_decisions(self) -> int:
        """Return the number of decisions in the running matches."""
        return int(self._decisions.sum())

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the running matches as plain arrays. Any: several dtypes."""
        return {"earned": self._earned.copy(), "decisions": self._decisions.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._earned[:], self._decisions[:] = state["earned"], state["decisions"]
        self._began_ns[:] = 0

    def _end(self, ending: Ending, bank: PolicyBank) -> None:
        metrics, rows = self._metrics, ending.rows
        if ending.void:
            metrics.add(names.VOIDED_DECISIONS, int(self._decisions[rows].sum()))
        else:
            metrics.add(names.MATCHES)
            metrics.observe(names.LENGTH, float(self._decisions[rows].sum()))
            self._note_duration(self._began_ns[rows])
            metrics.add(names.TRUNCATED, int(ending.truncated))  # also 0, so that the metric exists
            learning = bank.learning(rows)
            earned = self._earned[rows] + ending.reward
            for reward in (earned if learning is None else earned[learning]).tolist():
                metrics.observe(names.REWARD, reward)
                ended, mean = self.recent[0] + 1, self.recent[1]
                self.recent = (ended, mean + (reward - mean) / min(ended, REWARD_WINDOW))
            for fact, value in ending.facts.items():
                name, seat = _of_seat(fact, len(rows))
                if seat is None or learning is None or learning[seat]:
                    metrics.observe(names.FACT(name), value)
        self._earned[rows] = 0
        self._decisions[rows] = 0
        self._began_ns[rows] = 0

    def _note_duration(self, began_ns: NDArray[np.int64]) -> None:
        known_ns = began_ns[began_ns > 0]
        if len(known_ns):
            spent_ns = self._clock_ns() - int(known_ns.min())
            self._metrics.took(MATCH_TIME, spent_ns)
            self._metrics.observe(names.MATCH_S, spent_ns / 1e9)


def _of_seat(fact: str, seats: int) -> tuple[str, int | None]:
    """Return the name of a fact and its seat: 1 for `touches@1`, None for a fact of the whole match."""
    name, _, seat = fact.rpartition("@")
    if name and seat.isdecimal() and int(seat) < seats:
        return name, int(seat)
    return fact, None
