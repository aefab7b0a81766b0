"""`ludus tune` in a process of its own, and single trials, on the toy game."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from tests.commands import interrupted, ludus

from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.diagnostics import trial_process, tuning
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.training_trial import TrialOrder, TrialProgress
from ludus.diagnostics.tuning import Due

GONE_S = 20.0


def left_in(folder: Path) -> list[list[str]]:
    """The command lines of processes that still run in a folder, once those that end have had the time to."""
    deadline_s = time.monotonic() + GONE_S
    while True:
        running = []
        for process in psutil.process_iter():
            try:
                if process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                    running.append(process.cmdline())
            except psutil.Error:
                continue
        if not running or time.monotonic() > deadline_s:
            return running
        time.sleep(0.05)


def test_a_tuning_survives_a_refused_configuration_and_an_interruption(tmp_path: Path) -> None:
    """The first configuration is refused at once; Ctrl-C comes while the second one trains."""
    config = tmp_path / "nim.yaml"
    config.write_text("game: toy  # nim\noptions: {game: nim}\nlearner: {decisions: 256, minibatch: 128}\n")
    tries = ("--try", "fleet.matches=70000,8", "--set", "fleet.hosts=1", "--set", "fleet.parts=1")
    code, rest = interrupted(
        tmp_path, lambda line: line.startswith("1. "), "tune", "nim.yaml", *tries, "--budget", "24s", "--save", "out"
    )
    assert code == 130
    assert "Interrupted: 1 trial kept; continue with: ludus tune --resume out" in rest
    assert "matches 70000: 1 of 1 trial failed: fleet.matches" in rest
    assert left_in(tmp_path) == []

    other = ludus(tmp_path, "tune", "nim", "--resume", "out")
    assert other.stderr == "ludus: --resume: keeps the settings of the tuning; leave out CONFIG\n"

    again = ludus(tmp_path, "tune", "--resume", "out", "--budget", "100s", "--apply", "nim.yaml", "--json", "r.json")
    assert again.returncode == 0, again.stderr
    assert "Plan: 1 trial done; " in again.stdout
    assert "\x1b" not in again.stdout
    state = tuning.read(tmp_path / "out")
    assert [trial.configuration.settings[0][1] for trial in state.trials] == [70000, 8]
    trial = state.trials[-1]
    assert trial.updates >= 1
    assert trial.decisions == 256 * trial.updates
    assert trial.seconds > 0
    assert trial.decisions_per_s > 0
    assert {"actor/policies", "learner/update"} <= trial.times.activities.keys()
    assert json.loads((tmp_path / "r.json").read_text())["best"] == {"fleet.matches": 8}
    assert "Best: matches 8: " in again.stdout
    assert "nim.yaml: fleet.matches is now 8 (was not set)" in again.stdout
    assert load.read(config)["fleet"] == {"matches": 8}
    assert config.read_text().startswith("game: toy  # nim\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["tuning.json"]
    assert left_in(tmp_path) == []


def order(folder: Path) -> TrialOrder:
    run = resolve({"game": "toy", "fleet": {"hosts": 1, "matches": 4}})
    return TrialOrder(
        due=Due(0, 0, Configuration((("fleet.matches", 4),))),
        settings=run.config,
        folder=str(folder / "trial"),
        warm_s=0.5,
        measure_s=1.0,
    )


def test_a_trial_that_never_gets_going_is_killed_and_has_failed(tmp_path: Path) -> None:
    trial = trial_process.run(order(tmp_path), start_limit_s=0.5, limit_s=60.0)
    assert trial.failure == "no update within 0.5 s; --start-limit allows more"
    assert trial.wall_s >= 0.5
    assert psutil.Process().children(recursive=True) == []


def test_a_trial_that_is_killed_for_want_of_memory_has_failed(tmp_path: Path) -> None:
    def kill(progress: TrialProgress | None) -> None:
        for child in psutil.Process().children():
            os.kill(child.pid, signal.SIGKILL)

    trial = trial_process.run(order(tmp_path), start_limit_s=60.0, limit_s=60.0, tell=kill)
    assert trial.failure == "the process was killed, as Linux does if memory runs out"


def test_an_interrupted_trial_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    def interrupt(progress: TrialProgress | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trial_process.run(order(tmp_path), start_limit_s=60.0, limit_s=60.0, tell=interrupt)
    assert psutil.Process().children(recursive=True) == []
    assert list(tmp_path.iterdir()) == []
