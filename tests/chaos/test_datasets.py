"""Datasets whose generation is interrupted, killed, or runs out of disk: nothing is lost, nothing is played twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests import datasets, disk

from ludus.api.datasets import check
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError
from ludus.run.lock import hold

DEADLINE_S = 60.0
MATCHES = 600
PROGRAM = """
from ludus.cli.main import main
from ludus.data import recorder
recorder.SHARD_S = 0.1
main()
"""
ARGUMENTS = (
    *("generate", "--game", "toy:nim", "--a", "scripted:perfect", "--b", "scripted:random", "--workers", "2"),
    *("--matches", str(MATCHES), "--set", "options.wait_s=0.05"),
)


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, *ARGUMENTS, "--out", str(folder), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@contextmanager
def generating(folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """`ludus generate` in a process of its own that has written two shards and has matches left to play."""
    with start(folder, *more) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            while len(list((folder / "ledger").glob("*.ledger"))) < 2:
                assert process.poll() is None, process.stdout.read() if process.stdout else ""
                time.sleep(0.01)  # a folder has no event to wait for
            yield process
        finally:
            deadline.cancel()
            process.kill()


def finish(folder: Path) -> None:
    """Resume to the end, and check that every match is there once and every file whole."""
    with start(folder, "--resume") as process:
        output, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, output
    assert numbers(folder) == list(range(MATCHES))
    assert check(folder).damage == []


def numbers(folder: Path) -> list[int]:
    return sorted(int(one) for _, shard in Dataset.open(folder).ledgers() for one in shard.matches.number)


def test_an_interrupted_dataset_keeps_what_was_finished_and_is_completed(tmp_path: Path) -> None:
    with generating(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, output
    assert "the same command with --resume plays the others" in output
    assert 0 < len(numbers(tmp_path)) < MATCHES
    finish(tmp_path)


def test_a_killed_dataset_is_whole_and_completed_without_playing_a_match_twice(tmp_path: Path) -> None:
    with generating(tmp_path) as process:
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait(DEADLINE_S)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    before = numbers(tmp_path)
    assert 0 < len(before) == len(set(before)) < MATCHES
    finish(tmp_path)


def test_matches_of_a_killed_host_are_played_again_by_the_others(tmp_path: Path) -> None:
    with generating(tmp_path) as process:
        host = psutil.Process(process.pid).children()[0]
        host.kill()
        output, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, output
    assert numbers(tmp_path) == list(range(MATCHES))
    assert sum(Dataset.open(tmp_path).manifest.voided.values()) > 0


def test_a_full_disk_ends_generation_with_one_line_and_damages_nothing(tmp_path: Path) -> None:
    with generating(tmp_path) as process:
        disk.stop_writing(process.pid)
        output, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2, output
    assert output.count("cannot be written: File too large") == 1
    assert "Traceback" not in output
    assert 0 < len(numbers(tmp_path)) < MATCHES
    finish(tmp_path)


def test_a_second_process_is_kept_out_of_the_folder(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(ConfigError, match="is in use by pid"):
        datasets.played(tmp_path, 20)
    assert not (tmp_path / "manifest.json").exists()


def test_a_second_generate_into_a_folder_is_refused_and_costs_the_first_nothing(tmp_path: Path) -> None:
    with generating(tmp_path, "--matches", "100000") as first:
        with start(tmp_path, "--resume") as second:
            refused, _ = second.communicate(timeout=DEADLINE_S)
        assert second.returncode == 2
        assert f"is in use by pid {first.pid}" in refused
        first.send_signal(signal.SIGINT)
        output, _ = first.communicate(timeout=DEADLINE_S)
        assert first.returncode == 130, output
    played = numbers(tmp_path)
    assert len(played) == len(set(played)) > 0
    assert check(tmp_path).damage == []
