"""Decides when a failed process is restarted and when it is given up. Pure."""

from __future__ import annotations

from typing import Protocol


class RestartLimits(Protocol):
    """The settings of restarts, such as those of FleetConfig."""

    @property
    def backoff_s(self) -> float: ...  # doubled with each failure in a row

    @property
    def backoff_max_s(self) -> float: ...

    @property
    def failures_in_a_row(self) -> int: ...


class Restarts:
    """The starts of one process, its consecutive failures, and a description of the last failure."""

    def __init__(self, limits: RestartLimits, last: str = "") -> None:
        self._limits = limits
        self._in_a_row = 0
        self.starts = 0
        self.last_failure = last

    def started(self) -> int:
        """Count a start and return its number, from 0."""
        self.starts += 1
        return self.starts - 1

    def failed(self, detail: str) -> float | None:
        """Count a failure. Returns the delay in seconds before the next start, or None if the process is given up."""
        self._in_a_row += 1
        self.last_failure = detail
        if self._in_a_row >= self._limits.failures_in_a_row:
            return None
        return min(self._limits.backoff_s * 2.0 ** (self._in_a_row - 1), self._limits.backoff_max_s)

    def recovered(self) -> None:
        """Forget earlier failures, because the process works."""
        self._in_a_row = 0
