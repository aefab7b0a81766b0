"""Runs that start their own Showdown servers: those are spread over, come back when they die, and go with the run."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from benchmarks.showdown_server import free_port

from ludus.games.showdown.install import Installation
from ludus.policies.checkpoints import checkpoint

DEADLINE_S = 150.0
SETTINGS = """
game: showdown-server
options: {format: gen1randombattle, feature_set: raw, max_turns: 30, start_deadline_s: 60}
mode: serial
servers: {count: 1, base_port: PORT}
fleet: {hosts: 1, matches: 4}
learner: {decisions: 64, minibatch: 64, epochs: 1}
opponents: {past: 0, scripted: 0}
evaluation: {matches: 2, quick_matches: 2, every_updates: 100000, opponents: [random]}
budget: {minutes: 60}
"""


def wait_for(seen: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not seen():
        assert process.poll() is None, f"the run ended with {process.returncode}"
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.slow)],
)
def test_a_run_goes_on_when_its_server_was_killed_and_leaves_none_behind(
    showdown: Installation, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    config, folder = tmp_path / "own.yaml", tmp_path / "run"
    config.write_text(SETTINGS.replace("PORT", str(free_port())))  # one that no other test's servers look for
    words = [sys.executable, "-m", "ludus", "train", str(config), "--run-dir", str(folder)]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, start_new_session=True)
    try:
        progress, log = folder / "progress.csv", folder / "run.log"
        wait_for(lambda: updates(progress) > 0, process)
        (server,) = (
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if "pokemon-showdown" in child.cmdline() and "start" in child.cmdline()
        )
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: len(re.findall(r"\(port \d+\) is ready", text(log))) == 2, process)
        assert "was ended by SIGKILL; again in" in text(log)
        before = updates(progress)
        wait_for(lambda: updates(progress) > before + 1, process)
        shown = last_row(progress)
        assert [float(shown[f"servers/{name}"]) for name in ("alive", "total", "restarts", "recycled")] == [1, 1, 1, 0]
        assert float(shown["servers/memory_mib"]) == float(shown["servers/largest_mib"]) > 50
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == status
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(children, timeout=10.0)
    assert not alive
    if number == signal.SIGINT:
        saved = checkpoint.read_state(checkpoint.find(folder))
        assert saved.options["servers"] == ["ws://127.0.0.1:8000/showdown/websocket"]  # the default: no address of ours
        assert saved.options["patience_s"] == 0.0


def last_row(progress: Path) -> dict[str, str]:
    """Of the whole lines."""
    rows = list(csv.DictReader(text(progress).rpartition("\n")[0].splitlines()))
    return rows[-1] if rows else {}


def updates(progress: Path) -> int:
    return int(float(last_row(progress).get("progress/updates") or 0))
