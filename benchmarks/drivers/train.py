"""Train with ludus: the whole of `run.train` with the format's preset, without evaluations.

Usage: train.py FORMAT HOSTS MATCHES. It never pauses by itself: the benchmark stops and continues it with signals.
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

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_requests

from ludus import run
from ludus.actors import supervised
from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.config.settings import RunConfig
from ludus.games import registry
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.run import reporting

PAUSE_S = 1000000.0  # nobody may be taken for hung while the others are measured
INTERVALS = 1  # between updates, at least, in a measurement
ENDLESS = (  # what makes a run go on until it is told to leave
    f"fleet.reply_deadline_s={PAUSE_S}",
    f"budget.minutes={PAUSE_S}",
    f"checkpoint.every_s={PAUSE_S}",
    "evaluation.every_updates=1000000000",
)


class Watcher:
    """Measures rates between the ends of updates.

    The learner hears of played decisions late and in bursts, but the number that an update learned from is exact. The
    rate is therefore that of learned decisions, times the run's ratio of played decisions (of all seats) to learned
    ones.
    """

    def __init__(self) -> None:
        self._updated = threading.Condition()
        self._ends: list[tuple[float, float, float]] = []  # time, learned, updates
        self._first: tuple[float, float] | None = None  # played, learned
        self._played_per_learned = 1.0
        self._updates = 0.0
        self._update_ms = 0.0

    def on_progress(self, numbers: Numbers) -> None:
        played, learned, updates = (
            float(numbers.get(name, 0)) for name in (names.DECISIONS, names.LEARNED, names.UPDATES)
        )
        with self._updated:
            if updates == self._updates:
                return
            self._updates = updates
            self._update_ms = float(numbers.get(names.P50_MS(names.UPDATE), 0))  # pauses are in the mean
            self._ends.append((time.perf_counter(), learned, updates))
            if self._first is None:
                self._first = played, learned
            elif learned > self._first[1]:
                self._played_per_learned = (played - self._first[0]) / (learned - self._first[1])
            self._updated.notify_all()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        """Do nothing: there are no evaluations."""

    def wait_for_updates(self, updates: int) -> None:
        with self._updated:
            self._updated.wait_for(lambda: self._updates >= updates)

    def measure(self, seconds: float) -> Answer:
        usage, begin_s = Usage(), time.perf_counter()
        until = begin_s + seconds
        with self._updated:
            self._ends.clear()
            self._updated.wait_for(lambda: time.perf_counter() >= until and len(self._ends) > INTERVALS)
            (begin, before, first), (end, after, last) = self._ends[0], self._ends[-1]
            decisions = (after - before) * self._played_per_learned
            measured = {"decisions": decisions, "seconds": end - begin, "updates": last - first}
        return {**measured, "update_ms": self._update_ms, **usage.busy(time.perf_counter() - begin_s)}


class Usage:
    """The CPU time of a run by kind of process, from the construction on. Unlike timers, it excludes pauses."""

    def __init__(self) -> None:
        learner = psutil.Process()
        actors = [child for child in learner.children() if "ludus.actors.child" in child.cmdline()]
        hosts = [host for actor in actors for host in actor.children()]
        self._processes = {"learner_busy": [learner], "actors_busy": actors, "hosts_busy": hosts}
        self._before_s = {kind: _cpu_s(processes) for kind, processes in self._processes.items()}

    def busy(self, seconds: float) -> Answer:
        """Return the mean CPU share of each kind of process."""
        return {
            kind: (_cpu_s(processes) - self._before_s[kind]) / seconds / max(len(processes), 1)
            for kind, processes in self._processes.items()
        }


def _cpu_s(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def main(battle_format: str, hosts: str, matches: str, *sets: str) -> None:
    learn(_config(battle_format, [f"fleet.hosts={hosts}", f"fleet.matches={matches}", *sets]))


def learn(config: RunConfig) -> None:
    """Train and answer requests, until there are no more."""
    reporting.PROGRESS_S = 0.05  # a user sees one report a second, which is coarse for a measurement of a few
    supervised.SILENCE_S = PAUSE_S
    watcher = Watcher()
    threading.Thread(target=_answer_until_told_to_leave, args=(watcher,), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="ludus-bench-") as folder:
        run.train(resolve(config), Path(folder) / "run", observer=watcher)


def _config(battle_format: str, sets: Sequence[str]) -> RunConfig:
    """Return the first preset of this format, or all defaults, without a budget."""
    game = registry.load("showdown")
    presets = [load.read(path) for path in sorted(game.presets.glob("*.yaml"), key=lambda path: path.stem)]
    mine = [preset for preset in presets if preset.get("options", {}).get("format") == battle_format]
    changed = [f"options.format={battle_format}", *ENDLESS, *sets]
    return load.build(
        load.override(mine[0] if mine else {"game": game.name}, changed), options_of=lambda _: game.options
    )


def _answer_until_told_to_leave(watcher: Watcher) -> None:
    watcher.wait_for_updates(1)  # the rest of the way to a steady lag is the warm-up's
    answer_requests(watcher.measure)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
