"""Counts failed writes of exporters and logs them without repetition."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from ludus import files

QUIET_S = 60.0  # least time between two log lines about one exporter
log = logging.getLogger(__name__)


class Failures:
    """Failed writes of the exporters of one run. Logs the first failure of each and its recovery."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._untold = 0
        self._failed: dict[str, int] = {}  # failures by exporter since the last log line about it
        self._said_s: dict[str, float] = {}

    def note(self, name: str, error: Exception) -> None:
        """Count one failure of the exporter `name`."""
        self._untold += 1
        failed = self._failed.get(name, 0)
        if not failed and self._clock_s() - self._said_s.get(name, -math.inf) < QUIET_S:
            return
        self._failed[name] = failed + 1
        if not failed:
            self._said_s[name] = self._clock_s()
            expected = isinstance(error, OSError)
            log.warning(
                "%s cannot be written: %s; the run goes on, and writing is tried again",
                name,
                files.reason(error) if expected else f"{type(error).__name__}: {error}",
                exc_info=None if expected else error,
            )

    def end(self, name: str) -> None:
        """Note that the exporter `name` has written successfully."""
        failed = self._failed.pop(name, 0)
        if failed:
            log.warning("%s is written again; %d writes failed", name, failed)

    def take(self) -> int:
        """Return the number of failures since the last call."""
        untold, self._untold = self._untold, 0
        return untold
