"""When a process that failed is started again, and when it is given up. Pure."""

from __future__ import annotations

from typing import Protocol


class RestartLimits(Protocol):
    @property
    def backoff_s(self) -> float: ...  # doubled with each failure in a row

    @property
    def backoff_max_s(self) -> float: ...

    @property
    def failures_in_a_row(self) -> int: ...


class Restarts:
    """Of one process: its starts, its failures in a row, and the last one in words."""

    def __init__(self, limits: RestartLimits, last: str = "") -> None:
        self._limits = limits
        self._in_a_row = 0
        self.starts = 0
        self.last_failure = last

    def started(self) -> int:
        """Which start this is: 0 for the first."""
        self.starts += 1
        return self.starts - 1

    def failed(self, detail: str) -> float | None:
        """How long to rest before the next start; None: never again."""
        self._in_a_row += 1
        self.last_failure = detail
        if self._in_a_row >= self._limits.failures_in_a_row:
            return None
        return min(self._limits.backoff_s * 2.0 ** (self._in_a_row - 1), self._limits.backoff_max_s)

    def recovered(self) -> None:
        """It does its work: earlier failures do not count any more."""
        self._in_a_row = 0
