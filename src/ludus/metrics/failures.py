"""Counts telemetry that could not be written, and says so without repeating itself."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from ludus import files

QUIET_S = 60.0  # the same file is not mentioned again sooner: a disk that is nearly full fails and works in turn
log = logging.getLogger(__name__)


class Failures:
    """Failed writes of the exporters of one run. Logs the first failure of each, and when it writes again."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._untold = 0
        self._failed: dict[str, int] = {}  # since the log mentioned it last, by exporter
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
        """The exporter `name` has written something."""
        failed = self._failed.pop(name, 0)
        if failed:
            log.warning("%s is written again; %d writes failed", name, failed)

    def take(self) -> int:
        """Failures since the last call."""
        untold, self._untold = self._untold, 0
        return untold
