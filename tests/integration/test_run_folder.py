"""A run's folder that is in use, or whose files are damaged, as the commands meet it."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.commands import ludus
from tests.running import ENDLESS, running, small_run

from ludus.evaluation.report import EVALUATIONS, PROGRESS
from ludus.metrics import names
from ludus.metrics.exporters import csv
from ludus.policies.checkpoints.archive import Checkpoints

SETTINGS = (
    *("mode=serial", "device=cpu", "fleet.hosts=1", "fleet.matches=8", "policy.width=16", "rollout.segment=8"),
    *("learner.decisions=256", "learner.minibatch=128", "budget.minutes=0"),
    *("evaluation.matches=4", "evaluation.quick_matches=4", "evaluation.every_updates=2"),
)
GARBAGE = b"\n\x7fELF\x00\xff\xfe" + bytes(range(256)) * 20 + b"\n"


def trained(folder: Path, updates: int, *words: str) -> subprocess.CompletedProcess[str]:
    sets = [word for each in (*SETTINGS, f"budget.updates={updates}") for word in ("--set", each)]
    return ludus(folder, "train", *words, "--run-dir", "run", *sets)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert trained(folder, 4, "nim").returncode == 0
    return folder / "run"


def test_a_run_with_damaged_files_is_resumed_and_reported(finished: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    damaged = (PROGRESS, EVALUATIONS, "activities.json", "starts.jsonl", "run.log")
    for name in damaged:
        lines = (run_dir / name).read_bytes().splitlines(keepends=True)
        (run_dir / name).write_bytes(b"".join([lines[0], GARBAGE, *lines[1:], b"\xff half a li"]))
    result = trained(tmp_path, 6, "--resume")
    assert (result.returncode, result.stderr) == (0, "")
    assert "damaged lines, which are left out" in result.stdout
    assert "finished after update 6" in result.stdout
    assert (run_dir / f"{PROGRESS}.damaged").exists()
    assert (run_dir / f"{EVALUATIONS}.damaged").exists()
    updates = [float(row[names.UPDATES]) for row in csv.read(run_dir / PROGRESS) if row[names.UPDATES]]
    assert updates[-1] == 6
    assert "Win rates at the end" in (run_dir / "report.md").read_text()


def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with running(small_run(ENDLESS, mode="overlapped"), run_dir) as process:
        for name in ("config.yaml", PROGRESS):
            (run_dir / name).write_text("game: toy\n")
        process.send_signal(signal.SIGSTOP)  # nothing of it may change meanwhile
        before = {path: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}
        for words in (("nim",), ("--resume",)):
            result = trained(tmp_path, 4, *words)
            assert result.returncode == 2
            assert result.stderr.count("\n") == 1
            assert f"run is in use by pid {process.pid} on " in result.stderr
        assert {path: path.read_bytes() for path in run_dir.iterdir() if path.is_file()} == before
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.wait()
    assert Checkpoints(run_dir, 1).latest() is not None
    assert not (run_dir / "lock").exists()


def test_a_report_that_cannot_be_written_is_one_line_and_the_result_is_shown(finished: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(finished, run_dir)
    (run_dir / "report.md").unlink()
    (run_dir / "report.md").mkdir()
    result = trained(tmp_path, 4, "--resume")
    assert (result.returncode, result.stderr) == (0, "")
    assert "The report could not be written: Is a directory." in result.stdout
    assert "win rate" in result.stdout
    assert "ludus eval run" in result.stdout


def test_a_configuration_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "run" / "config.yaml").mkdir(parents=True)
    result = trained(tmp_path, 4, "nim")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "config.yaml: cannot be written: Is a directory" in result.stderr
