"""Runs on real Ray clusters of this machine, in this process and as a command, for tests that disturb them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from tests import clusters
from tests.running import ENDLESS, NEVER, PATIENCE_S, Watch, small_run

from ludus import run
from ludus.actors.resolved import resolve
from ludus.config.settings import FleetConfig, OpponentsConfig, RunConfig
from ludus.metrics import names
from ludus.metrics.observer import Numbers
from ludus.run import RunResult
from ludus.run.folder import latest as latest_checkpoint

MATCHES = 2 * 8  # that run at once: actors with a host each, matches

Step = tuple[Callable[[], object], Callable[[Numbers], bool]]
"""What to do, and what the numbers show when it is over."""


class Saboteur(Watch):
    """Does one thing after the other while the run trains, and interrupts the run after the last one."""

    def __init__(self, *steps: Step) -> None:
        super().__init__()
        self._steps = [*steps, (lambda: signal.raise_signal(signal.SIGINT), lambda numbers: False)]
        self._over: Callable[[Numbers], bool] = both_play
        self._deadline_s = time.monotonic() + PATIENCE_S

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        assert time.monotonic() < self._deadline_s, self.numbers
        if self._steps and self._over(self.numbers):
            act, self._over = self._steps.pop(0)
            self._deadline_s = time.monotonic() + PATIENCE_S
            act()


def both_play(numbers: Numbers) -> bool:
    return numbers.get(names.ACTORS_PLAYING) == 2 and float(numbers.get(names.UNDER_WAY, 0)) > MATCHES / 2


def _command_of(process: psutil.Process) -> str:
    """Return its command line; nothing if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def on_nodes() -> list[psutil.Process]:
    """Return Ray's processes that run actors, and below them the actors' processes and their hosts."""
    family = psutil.Process().children(recursive=True)
    return [process for process in family if "ray::OnNode" in _command_of(process)]


def config(updates: int = ENDLESS, **changes: object) -> RunConfig:
    fleet = FleetConfig(matches=8, backoff_s=0.01, failures_in_a_row=3)
    opponents = OpponentsConfig(past=0.3, scripted=0.0, snapshot_every=3)
    given = {"options": {"game": "nim"}, "fleet": fleet, "opponents": opponents, **changes}
    return small_run(updates, mode="overlapped", **given)


def train(config: RunConfig, run_dir: Path, cluster: Any, observer: Any, *, resume: bool = False) -> RunResult:
    """Train on a cluster. Any: Ray's test cluster, and an observer."""
    with clusters.environment():
        there = replace(resolve(config), cluster=cluster.address)
        return run.train(there, run_dir, resume=resume, observer=observer)


def assert_nothing_is_left() -> None:
    _, alive = psutil.wait_procs(on_nodes(), timeout=PATIENCE_S)
    assert alive == []


class Command:
    """`ludus train nim` on a cluster, in a process of its own, with a checkpoint each second."""

    def __init__(self, folder: Path) -> None:
        self.run_dir, self._output = folder / "run", folder / "output"

    @contextmanager
    def running(self, address: str, *, within: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
        """Inside the block, train on the cluster with this address. `within` are the first words of the command."""
        sets = (
            "fleet.hosts=0",
            "budget.minutes=0",
            "budget.updates=1000000",
            "checkpoint.every_s=1",
            f"evaluation.every_updates={NEVER}",
        )
        changes = [word for each in sets for word in ("--set", each)]
        ludus = [sys.executable, "-m", "ludus", "train", "nim", "--run-dir", str(self.run_dir), *changes]
        with self._output.open("w") as log, clusters.environment():
            parent = subprocess.Popen([*within, *ludus, "--cluster", address], stdout=log, stderr=log)
        try:
            yield parent
        finally:
            parent.kill()
            parent.wait()

    @property
    def output(self) -> str:
        return self._output.read_text()

    @property
    def starts(self) -> int:
        path = self.run_dir / "starts.jsonl"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def until(self, holds: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + 2 * PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline_s, self.output
            time.sleep(0.2)

    def until_saved_again(self) -> None:
        before = latest_checkpoint(self.run_dir)
        self.until(lambda: latest_checkpoint(self.run_dir) not in (None, before))


def learners() -> list[psutil.Process]:
    """Return the processes that learn on nodes of clusters of this machine."""
    family = psutil.Process().children(recursive=True)
    return [each for each in family if any("LearnerOnNode" in word for word in _cmdline(each.parent()))]


def _cmdline(process: psutil.Process | None) -> list[str]:
    try:
        return [] if process is None else process.cmdline()
    except psutil.Error:
        return []
