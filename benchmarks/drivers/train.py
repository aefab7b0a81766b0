"""Ours learning: the whole of `run.train` with the format's preset, evaluations left out.

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
from ludus.config import load
from ludus.config.schema import RunConfig
from ludus.games import registry
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.scale import local

PAUSE_S = 1000000.0  # nobody may be taken for hung while the others are measured
REPORTS = 2  # at least, in a measurement


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

    def wait_for_updates(self, updates: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.updates >= updates)

    def measure(self, seconds: float) -> Answer:
        with self._changed:
            self._seen = self._seen[-1:]
            first, updates, until = len(self._seen), self.updates, time.perf_counter() + seconds
            while time.perf_counter() < until or len(self._seen) - first < REPORTS or self.updates == updates:
                self._changed.wait(max(0.05, until - time.perf_counter()))
            (begin, before), (end, after) = self._seen[first], self._seen[-1]
            return {"decisions": after - before, "seconds": end - begin, "updates": self.updates - updates}


def main(battle_format: str, hosts: str, matches: str) -> None:
    run.PROGRESS_S = 0.05  # a user sees one report a second, which is coarse for a measurement of a few
    local.SILENCE_S = PAUSE_S
    config = _config(battle_format, [f"fleet.hosts={hosts}", f"fleet.matches={matches}"])
    watcher = Watcher()
    threading.Thread(target=_answer_until_told_to_leave, args=(watcher,), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="ludus-bench-") as folder:
        run.train(config, Path(folder) / "run", observer=watcher)


def _config(battle_format: str, sets: Sequence[str]) -> RunConfig:
    """The first preset for this format, or all defaults, made to run until it is told to leave."""
    game = registry.load("showdown")
    presets = [load.read(path) for path in sorted(game.presets.glob("*.yaml"), key=lambda path: path.stem)]
    mine = [preset for preset in presets if preset.get("options", {}).get("format") == battle_format]
    endless = [
        f"options.format={battle_format}",
        f"fleet.reply_deadline_s={PAUSE_S}",
        f"budget.minutes={PAUSE_S}",
        f"checkpoint.every_s={PAUSE_S}",
        "evaluation.every_updates=1000000000",
        *sets,
    ]
    return load.build(load.override(mine[0] if mine else {}, endless), options_of=lambda _: game.options)


def _answer_until_told_to_leave(watcher: Watcher) -> None:
    watcher.wait_for_updates(2)  # the rest of the way to a steady lag is the warm-up's
    answer_requests(watcher.measure)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
