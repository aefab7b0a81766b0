"""A disk that is full for a while, or for good: training goes on, what is written stays whole, the end is clear."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tests import disk

from ludus.evaluation.report import EVALUATIONS, PROGRESS
from ludus.metrics import names
from ludus.metrics.exporters import csv, evaluations
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints

DEADLINE_S = 120.0
PROGRAM = """
import sys
from ludus.cli.main import main
from ludus.run import patience, reporting
reporting.PROGRESS_S = 0.05
patience.LAST_S = float(sys.argv.pop(1))
main()
"""
SETTINGS = (
    *("mode=overlapped", "device=cpu", "fleet.hosts=1", "fleet.matches=8", "policy.width=16", "rollout.segment=8"),
    *("learner.decisions=256", "learner.minibatch=128", "budget.minutes=0", "budget.updates=1000000"),
    *("checkpoint.every_s=1", "evaluation.matches=4", "evaluation.quick_matches=4", "evaluation.every_updates=40"),
)


class Run:
    """`ludus train` in a process of its own, and the lines it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def until(self, words: str) -> None:
        """Read on until a line has these words, unless one has already."""
        assert self.process.stdout is not None
        while not self.said(words):
            line = self.process.stdout.readline()
            assert line, f"the run ended without saying {words!r}: {''.join(self.lines)}"
            self.lines.append(line)

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines += self.process.stdout
        return self.process.wait()

    def said(self, words: str) -> int:
        return sum(words in line for line in self.lines)


@contextmanager
def training(run_dir: Path, last_s: float = 60.0) -> Iterator[Run]:
    words = [word for each in SETTINGS for word in ("--set", each)]
    command = [sys.executable, "-c", PROGRAM, str(last_s), "train", "nim", "--run-dir", str(run_dir), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            yield Run(process)
        finally:
            deadline.cancel()
            process.kill()


Switch = Callable[[Run], None]


@pytest.fixture(params=["full", "limited"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Switch, Switch]]:
    """A folder for a run, what makes its disk full, and what gives it room again."""
    if request.param == "limited":  # works for every user
        yield tmp_path / "run", _stop_writing, _let_write
        return
    with disk.small_disk(tmp_path / "disk", kib=32 << 10) as mounted:
        if not mounted:
            pytest.skip("this user may not mount a disk of memory; the other variant runs")
        yield tmp_path / "disk" / "run", lambda _: disk.fill(tmp_path / "disk"), lambda _: disk.free(tmp_path / "disk")


def test_a_run_goes_on_while_its_disk_is_full_and_writes_on_afterwards(place: tuple[Path, Switch, Switch]) -> None:
    run_dir, fill, free = place
    with training(run_dir) as run:
        run.until("evaluation against")
        fill(run)
        run.until("was not written")
        fill(run)  # the room that half a checkpoint had taken
        run.until("tensorboard cannot be written")
        free(run)
        run.until("tensorboard is written again")
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 130, run.lines
    for name in (PROGRESS, EVALUATIONS, "tensorboard", "run.log"):
        assert run.said(f"{name} cannot be written") == run.said(f"{name} is written again") <= 1
    assert run.said("Traceback") == 0
    assert Checkpoints(run_dir, 1).latest() is not None
    assert (run_dir / "report.md").exists()
    rows = csv.scan(run_dir / PROGRESS)
    assert (rows.damaged, rows.cut_short) == (0, False)
    assert float(rows.rows[-1][names.TELEMETRY_FAILURES]) > 0
    history = evaluations.scan(run_dir / EVALUATIONS)
    assert history.damaged == 0
    assert len(history.evaluations) == run.said("evaluation against random")  # those of the full disk came later
    (events,) = (run_dir / "tensorboard").iterdir()
    steps = [event.step for event in LegacyEventFileLoader(str(events)).Load()]
    assert steps[-1] == float(rows.rows[-1][names.UPDATES])
    assert left_over(run_dir) == []


def test_the_last_checkpoint_waits_for_room(place: tuple[Path, Switch, Switch]) -> None:
    run_dir, fill, free = place
    with training(run_dir) as run:
        run.until("evaluation against")
        fill(run)
        run.process.send_signal(signal.SIGINT)
        run.until("trying again for up to")
        free(run)
        assert run.end() == 130, run.lines
    agent = checkpoint.load_agent(run_dir)
    assert run.said(f"stopped after update {agent.version:,}") == 1
    assert (run_dir / "report.md").exists()
    assert left_over(run_dir) == []


@pytest.mark.parametrize("place", ["limited"], indirect=True)
def test_a_last_checkpoint_that_finds_no_room_is_a_clear_error(place: tuple[Path, Switch, Switch]) -> None:
    run_dir, fill, _ = place
    with training(run_dir, last_s=0.5) as run:
        run.until("evaluation against")
        fill(run)
        latest = Checkpoints(run_dir, 1).latest()
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 2, run.lines
    assert latest is not None
    assert "could not be saved" in run.lines[-1]
    assert "stays the latest checkpoint, and what was learned after it is lost" in run.lines[-1]
    assert run.said("The report could not be written: ") == 1
    assert run.said("Traceback") == 0
    assert checkpoint.load_agent(run_dir).version > 0
    assert left_over(run_dir) == []


def left_over(run_dir: Path) -> list[str]:
    """Files that were never finished."""
    return [
        path.name for path in run_dir.rglob("*") if path.suffix in (".partial", ".tmp") or "unfinished" in path.name
    ]


def _stop_writing(run: Run) -> None:
    for process in _writers(run):
        disk.stop_writing(process.pid)


def _let_write(run: Run) -> None:
    for process in _writers(run):
        disk.let_write(process.pid)


def _writers(run: Run) -> list[psutil.Process]:
    learner = psutil.Process(run.process.pid)
    return [learner, *learner.children(recursive=True)]
