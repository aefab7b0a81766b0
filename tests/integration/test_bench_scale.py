"""`ludus bench scale` in a process of its own, on the toy game."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from tests.commands import interrupted, ludus
from tests.faulty import game as faulty


def scale(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ludus(folder, "bench", "scale", *words)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "scaling.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_interrupted_benchmark_keeps_its_trial_and_goes_on_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("game: toy  # nim\nfleet:\n  hosts: 7\n")
    plan = ("--game", "toy", "--hosts", "1", "--matches", "2,8", "--repeats", "2", "--budget", "6s")
    code, rest = interrupted(
        tmp_path, lambda line: line.startswith("1 host x 8, repeat 1:"), "bench", "scale", *plan, "--out", "out"
    )
    assert code == 130
    assert "Interrupted: 2 of 4 trials are kept in out; continue with: ludus bench scale --resume --out out" in rest
    kept = rows(tmp_path / "out")
    assert [(row["matches"], row["repeat"]) for row in kept] == [("2", "1"), ("8", "1")]
    assert "Incomplete: 2 of 4" in (tmp_path / "out" / "scaling.md").read_text()

    other = scale(tmp_path, "--resume", "--out", "out", "--matches", "2,4")
    assert other.returncode == 2
    assert other.stderr.startswith("ludus: out holds a benchmark of another plan: matches is [2,8] there, [2,4] here")

    again = scale(tmp_path, "--resume", "--out", "out", "--apply", "my.yaml")
    assert again.returncode == 0, again.stderr
    assert rows(tmp_path / "out")[:2] == kept
    assert [(row["matches"], row["repeat"]) for row in rows(tmp_path / "out")[2:]] == [("2", "2"), ("8", "2")]
    assert "my.yaml: fleet.hosts is now 1 (was 7)" in again.stdout
    assert "\x1b" not in again.stdout
    best = json.loads((tmp_path / "out" / "scaling.json").read_text())["best"]
    assert (tmp_path / "my.yaml").read_text() == (
        f"game: toy  # nim\nfleet:\n  matches: {best['matches']}\n  hosts: 1\n"
    )
    assert (tmp_path / "out" / "scaling.png").exists()


def test_a_size_whose_fleet_fails_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.install(tmp_path / "package", monkeypatch)
    # each host fails once it has sent so many decisions: one match at once does not come that far
    faults = ("--set", "options.crash_after=400", "--set", "options.slow_s=0.005", "--set", "fleet.failures_in_a_row=1")
    plan = ("--game", "faulty", "--hosts", "1", "--matches", "1,900", "--repeats", "1", "--budget", "2s", *faults)
    said = scale(tmp_path, *plan, "--out", "out")
    assert said.returncode == 0, said.stderr
    assert [row["state"] for row in rows(tmp_path / "out")] == ["completed", "failed"]
    assert "Best: 1 host x 1 matches" in said.stdout
    assert "1 host x 900: 1 of 1 failed: no host is left to play on: host 0" in said.stdout


def test_a_target_that_cannot_take_the_result_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("game: showdown\n")
    said = scale(tmp_path, "--game", "toy", "--apply", "other.yaml")
    assert said.returncode == 2
    assert said.stderr == "ludus: --apply: other.yaml is for showdown, this measures toy\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "other.yaml"]


def test_a_benchmark_in_which_nothing_could_be_played_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty.install(tmp_path / "package", monkeypatch)
    faults = ("--set", "options.garbage_after=1", "--set", "fleet.failures_in_a_row=1")
    said = scale(
        tmp_path, "--game", "faulty", "--hosts", "1", "--matches", "2", "--budget", "1.5s", *faults, "--out", "out"
    )
    assert said.returncode == 2
    assert said.stderr == "ludus: no trial succeeded; out/scaling.md has the reasons\n"
    assert "broke the protocol" in (tmp_path / "out" / "scaling.md").read_text()
