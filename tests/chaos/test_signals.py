"""Signals that come while a run starts, trains, saves, evaluates: a clear end within seconds, nothing left behind."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.commands import LUDUS
from tests.running import ENDLESS, PATIENCE_S, running, small_run

from ludus.metrics import names
from ludus.metrics.exporters import csv
from ludus.policies.checkpoints.archive import Checkpoints

PRELUDE = "import os, signal, time\nfrom ludus.processes.interrupts import handled\n"
SETTINGS = (
    "fleet.hosts=2",
    "fleet.matches=8",
    "learner.decisions=256",
    "learner.minibatch=128",
    "rollout.segment=8",
    "policy.width=8",
    "evaluation.every_updates=1000000",
)


def program(code: str) -> int:
    return subprocess.run([sys.executable, "-c", PRELUDE + code], timeout=PATIENCE_S).returncode


@contextmanager
def training(folder: Path, *settings: str) -> Iterator[subprocess.Popen[str]]:
    """`ludus train` into `folder`/run, without a terminal; killed on leaving if it still runs."""
    sets = [word for each in (*SETTINGS, *settings) for word in ("--set", each)]
    with subprocess.Popen(
        [*LUDUS, "train", "nim", *sets, "--run-dir", "run"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert process.poll() is None, "it ended before that"
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def assert_all_end(processes: Sequence[psutil.Process]) -> None:
    assert psutil.wait_procs(list(processes), timeout=PATIENCE_S)[1] == []


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_is_noticed_and_a_second_one_ends_the_process(number: str) -> None:
    code = f"""
with handled() as interrupted:
    os.kill(os.getpid(), signal.{number})
    assert interrupted()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    assert program(code) == -signal.SIGINT


def test_signal_that_was_to_be_ignored_stays_ignored() -> None:
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
with handled() as interrupted:
    os.kill(os.getpid(), signal.SIGHUP)
    assert not interrupted()
"""
    assert program(code) == 0


def test_signal_raises_where_there_is_nothing_to_save() -> None:
    code = """
with handled() as interrupted:
    try:
        with interrupted.raised():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    except KeyboardInterrupt:
        pass
    try:
        with interrupted.raised():  # it came before
            time.sleep(60)
    except KeyboardInterrupt:
        os._exit(7)
"""
    assert program(code) == 7


def test_ctrl_c_while_a_run_starts_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with training(tmp_path, "mode=overlapped", "budget.minutes=30") as process:
        wait_until(lambda: bool(family(process)), process)  # the actor
        children = family(process)
        began_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began_s < 10.0
    assert process.returncode == 130
    assert errors.strip().splitlines() == [
        "ludus: interrupted outside of training; every checkpoint that was written is still there"
    ]
    assert_all_end(children)


def test_ctrl_c_during_the_final_evaluation_leaves_a_report_and_the_next_steps(tmp_path: Path) -> None:
    with training(
        tmp_path, "mode=serial", "budget.minutes=0", "budget.updates=2", "evaluation.matches=1000000"
    ) as process:
        wait_until(lambda: any((tmp_path / "run" / "logs" / "evaluation").glob("*")), process)
        children = family(process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (130, "")
    assert "The run stopped after update 2." in output
    assert "ludus train --run-dir run --resume" in output
    assert (tmp_path / "run" / "report.md").exists()
    assert Checkpoints(tmp_path / "run", 1).names() == ["u00000002"]
    assert_all_end(children)


def test_second_signal_while_a_run_saves_ends_it_at_once(tmp_path: Path) -> None:
    config = small_run(ENDLESS, mode="overlapped")
    with running(config, tmp_path) as learner:
        children = family(learner)
        for child in children:
            if "ludus.actors.child" in child.cmdline():
                child.suspend()  # so that the save takes its time
        learner.send_signal(signal.SIGTERM)
        wait_until(lambda: not _is_pending(learner, signal.SIGTERM), learner)
        began_s = time.monotonic()
        learner.send_signal(signal.SIGINT)
        status = learner.wait(PATIENCE_S)
        assert status in (-signal.SIGINT, -signal.SIGTERM)  # Python handles the lower number first if both have come
        assert time.monotonic() - began_s < 5.0
        assert_all_end(children)


def _is_pending(process: subprocess.Popen[str], number: int) -> bool:
    """Whether a signal that was sent to a process has not reached it, as far as the system tells."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return False
    fields = status.read_text().splitlines()
    pending = next(line for line in fields if line.startswith("ShdPnd:"))
    return bool(int(pending.split()[1], 16) & 1 << (number - 1))


def _has_learned(progress: Path) -> bool:
    return progress.exists() and any(float(row.get(names.UPDATES) or 0) for row in csv.read(progress))


def test_closed_terminal_saves_and_leaves(tmp_path: Path) -> None:
    """The kernel sends SIGHUP then, and everything that is written to the terminal fails."""
    ours, theirs = pty.openpty()
    sets = [word for each in (*SETTINGS, "mode=serial", "budget.minutes=30") for word in ("--set", each)]
    process = subprocess.Popen(
        [*LUDUS, "train", "nim", *sets, "--run-dir", "run"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        while not _has_learned(tmp_path / "run" / "progress.csv"):
            assert os.read(ours, 65536)  # a table a second
        children = psutil.Process(process.pid).children(recursive=True)
        os.close(ours)
        ours = -1
        assert process.wait(PATIENCE_S) == 130
    finally:
        process.kill()
        process.wait()
        if ours >= 0:
            os.close(ours)
    assert Checkpoints(tmp_path / "run", 1).names()
    assert (tmp_path / "run" / "report.md").exists()
    assert_all_end(children)
