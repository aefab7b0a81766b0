"""Ours learning: the whole of `run.train` with the default configuration, evaluations left out.

Usage: train.py FORMAT HOSTS MATCHES. It never rests by itself: the benchmark stops and continues it with signals.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_requests

from ludus import run
from ludus.config.schema import BudgetConfig, CheckpointConfig, EvaluationConfig, FleetConfig, RunConfig
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.scale import local

PAUSE_S = 1e6  # nobody may be taken for hung while the others are measured
REPORTS = 3  # at least, in a measurement


class Watcher:
    """Notes when the run's count of decisions changed. Counts come in steps, so a rate is taken between two changes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seen: list[tuple[float, float]] = []  # time, decisions
        self.updates = 0.0

    def on_progress(self, numbers: Numbers) -> None:
        decisions = float(numbers.get(names.DECISIONS, 0))
        with self._changed:
            self.updates = float(numbers.get(names.UPDATES, 0))
            if not self._seen or decisions > self._seen[-1][1]:
                self._seen.append((time.perf_counter(), decisions))
                self._changed.notify_all()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """There are none here."""

    def wait_for_play(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._seen) > 1)

    def measure(self, seconds: float) -> Answer:
        with self._changed:
            self._seen = self._seen[-1:]
            first, updates, until = len(self._seen), self.updates, time.perf_counter() + seconds
            while time.perf_counter() < until or len(self._seen) - first < REPORTS:
                self._changed.wait(max(0.05, until - time.perf_counter()))
            (begin, before), (end, after) = self._seen[first], self._seen[-1]
            return {"decisions": after - before, "seconds": end - begin, "updates": self.updates - updates}


def main(battle_format: str, hosts: str, matches: str) -> None:
    run.PROGRESS_S = 0.05  # a user sees one report a second, which is coarse for a measurement of a few
    local.SILENCE_S = PAUSE_S
    config = RunConfig(
        options={"format": battle_format},
        fleet=FleetConfig(hosts=int(hosts), matches=int(matches), reply_deadline_s=PAUSE_S),
        budget=BudgetConfig(minutes=PAUSE_S),
        evaluation=EvaluationConfig(every_updates=10**9),
        checkpoint=CheckpointConfig(every_s=PAUSE_S),
    )
    watcher = Watcher()
    threading.Thread(target=_answer_until_told_to_leave, args=(watcher,), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="ludus-bench-") as folder:
        run.train(config, Path(folder) / "run", observer=watcher)


def _answer_until_told_to_leave(watcher: Watcher) -> None:
    watcher.wait_for_play()
    answer_requests(watcher.measure)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
