"""Counts the work of a server: rates and percentiles of the last seconds, and totals."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ludus.serving.protocol import Latency

WINDOW_S = 10.0
MOST_SAMPLES = 20_000  # in the window


class Rates(NamedTuple):
    """Numbers of the last `WINDOW_S` seconds."""

    rows_per_s: float
    asks_per_s: float
    latency: Latency
    batch_mean: float
    batch_p50: float
    batch_max: int


class ServerTally:
    """Counters of a server."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._began_s = clock_s()
        self.decisions = self.asks = self.forwards = self.again = 0
        self.refused: Counter[str] = Counter()
        self._asks: deque[tuple[float, float, int]] = deque(maxlen=MOST_SAMPLES)  # (time, latency, rows)
        self._batches: deque[tuple[float, int]] = deque(maxlen=MOST_SAMPLES)  # (time, rows)

    @property
    def uptime_s(self) -> float:
        return self._clock_s() - self._began_s

    def answered(self, since_s: float, rows: int) -> None:
        """Count an ASK that arrived at `since_s` and was answered now."""
        now_s = self._clock_s()
        self.asks += 1
        self.decisions += rows
        self._asks.append((now_s, now_s - since_s, rows))

    def forwarded(self, rows: int) -> None:
        """Count a forward pass."""
        self.forwards += 1
        self._batches.append((self._clock_s(), rows))

    def rates(self) -> Rates:
        """Return the numbers of the last seconds, which are zeros if no client asked for anything."""
        now_s = self._clock_s()
        begin_s = now_s - WINDOW_S
        asks = [(at_s, latency_s, rows) for at_s, latency_s, rows in self._asks if at_s >= begin_s]
        batches = np.array([rows for at_s, rows in self._batches if at_s >= begin_s])
        if not asks or not len(batches):
            return Rates(0.0, 0.0, Latency(), 0.0, 0.0, 0)
        if len(self._asks) == MOST_SAMPLES:  # the oldest of the window were forgotten
            begin_s = max(begin_s, self._asks[0][0])
        over_s = max(min(now_s - begin_s, self.uptime_s), 1e-3)
        p50, p95, p99 = np.percentile([latency_s for _, latency_s, _ in asks], (50, 95, 99)) * 1e3
        return Rates(
            sum(rows for *_, rows in asks) / over_s,
            len(asks) / over_s,
            Latency(float(p50), float(p95), float(p99)),
            float(batches.mean()),
            float(np.median(batches)),
            int(batches.max()),
        )
