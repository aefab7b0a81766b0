"""Reports the metrics of a run to its observer, about once a second."""

from __future__ import annotations

import time
from collections.abc import Callable

from ludus.games.registry import ServersHealth
from ludus.metrics import names
from ludus.metrics.observer import CountsFailures, TakesTimes
from ludus.run.context import RunContext
from ludus.run.memory import RunMemory

PROGRESS_S = 1.0


class Teller:
    """Updates progress and server metrics and passes them to the observer. `servers` returns the servers' health."""

    def __init__(self, parts: RunContext, servers: Callable[[], ServersHealth | None]) -> None:
        self._parts = parts
        self._servers = servers
        self._told_at = time.monotonic()
        self._memory = RunMemory()

    def tell(self, *, now: bool = False) -> None:
        """Report the metrics, unless the last report is less than a second old. `now` reports in any case."""
        time_s = time.monotonic()
        if not now and time_s - self._told_at < PROGRESS_S:
            return
        self._told_at = time_s
        learner, metrics = self._parts.learner, self._parts.metrics
        used, training_s = learner.used, learner.training_s
        metrics.set(names.PROGRESS, min(used, 1.0))
        metrics.set(names.TRAINING_S, training_s)
        if used > 0:
            metrics.set(names.ETA_S, max(training_s / used - training_s, 0.0))
        for kind, mib in self._memory.mib().items():
            metrics.set(names.MEMORY(kind), mib)
        self.note_servers()
        observer = self._parts.observer
        if isinstance(observer, CountsFailures):
            metrics.add(names.TELEMETRY_FAILURES, observer.take_failures())
        numbers = metrics.report()
        if isinstance(observer, TakesTimes):
            observer.on_times(metrics.times())
        observer.on_progress(numbers)

    def note_servers(self) -> None:
        """Update the metrics of the servers. Call it before the last checkpoint, which saves the count of restarts."""
        health = self._servers()
        if health is None:
            return
        for name, value in (
            (names.SERVERS_ALIVE, health.alive),
            (names.SERVERS_TOTAL, health.total),
            (names.SERVERS_MIB, health.memory_mib),
            (names.SERVERS_LARGEST_MIB, health.largest_mib),
        ):
            self._parts.metrics.set(name, value)
        self._parts.metrics.grow(names.SERVERS_RESTARTS, health.restarts)
        self._parts.metrics.grow(names.SERVERS_RECYCLED, health.recycled)
