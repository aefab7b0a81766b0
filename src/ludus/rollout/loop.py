"""The rollout loop: answers all rows that are ready and records the learner's decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ludus.fleet.interface import Fleet
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.bank import PolicyBank
from ludus.rollout.segments import Segments
from ludus.rollout.tally import MatchMetrics
from ludus.types import Arrivals, SegmentBatch

RECV_S = 0.2  # longest wait for arrivals before `stopped` is checked again


class Rollout:
    """Plays matches on a fleet, which the caller owns, and fills batches.

    With `lockstep`, each step waits for all hosts, so that runs are deterministic.
    """

    def __init__(
        self, fleet: Fleet, bank: PolicyBank, segments: Segments, metrics: Metrics, *, lockstep: bool = False
    ) -> None:
        self._fleet = fleet
        self._bank = bank
        self._segments = segments
        self._metrics = metrics
        self._lockstep = lockstep
        self._tally = MatchMetrics(metrics, fleet.rows)
        self._waiting = metrics.activity(names.WAIT_HOSTS)
        self._recording = metrics.activity(names.SEGMENTS)
        self._choosing = metrics.activity(names.POLICIES)
        self._sending = metrics.activity(names.SEND)

    @property
    def recent_reward(self) -> tuple[int, float]:
        """The number of matches of learning seats, and their recent mean reward. Set it to continue a run."""
        return self._tally.recent

    @recent_reward.setter
    def recent_reward(self, recent: tuple[int, float]) -> None:
        self._tally.recent = recent

    @property
    def recorded(self) -> int:
        """Return the number of recorded decisions that are not in a full batch yet."""
        return self._segments.recorded

    def play(self, batch: SegmentBatch, stopped: Callable[[], bool]) -> bool:
        """Play until the batch is full and return True, or return False as soon as `stopped()` is True.

        `stopped` is called between forward passes.
        """
        self._segments.fill(batch)
        while not self._segments.full:
            if stopped():
                return False
            self._once()
        self._metrics.add(names.FORGOTTEN, self._segments.take_forgotten())
        return True

    def play_on(self, stopped: Callable[[], bool]) -> None:
        """Play without a batch, until a segment is complete, the overflow buffer is nearly full, or `stopped()`."""
        segments, waited = self._segments, self._segments.waits
        while segments.waits == waited and segments.roomy and not stopped():
            self._once()

    def count_matches(self) -> None:
        """Count the matches that were voided since the last call, and set the gauges of the running matches.

        Call between two `play` calls, when all arrivals have been counted.
        """
        self._tally.count_voided(self._fleet.health)
        self._metrics.set(names.UNDER_WAY, self._bank.matches)
        self._metrics.set(names.UNDER_WAY_DECISIONS, self._tally.under_way_decisions)

    def state(self, returned: Sequence[SegmentBatch] = ()) -> dict[str, NDArray[Any]]:
        """Return the recorded decisions as plain arrays, including those of `returned` batches. Any: several dtypes."""
        states = {"segments": self._segments.state(returned), "tally": self._tally.state()}
        return {f"{prefix}.{name}": array for prefix, arrays in states.items() for name, array in arrays.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the `state` of an earlier rollout. Call before playing."""
        self._segments.restore(_without_prefix(state, "segments."))
        self._tally.restore(_without_prefix(state, "tally."))

    def _once(self) -> None:
        with self._waiting:
            arrivals = self._fleet.recv(RECV_S, wait_all=self._lockstep)
        with self._recording:
            self._segments.close(arrivals, self._bank.learner.values)
            self._tally.count(arrivals, self._bank)
            matches = self._bank.end(arrivals.endings) - self._bank.matches
        if len(arrivals):
            self._answer(arrivals)
        matches += self._bank.matches
        if matches:
            self._metrics.add(names.BEGUN, matches)

    def _answer(self, arrivals: Arrivals) -> None:
        with self._choosing:
            choices = self._bank.act(arrivals)
        with self._sending:  # before recording, so that the hosts work in the meantime
            self._fleet.send(arrivals.row, choices.action)
        with self._recording:
            self._segments.open(arrivals, choices, self._bank.learning(arrivals.row))


def _without_prefix(state: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
