"""`ludus diagnose` on the toy game: real hosts, real updates, real trials of training."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from tests.commands import ludus_here

from ludus.actors.resolved import resolve
from ludus.diagnostics.diagnosis import record, trials
from ludus.diagnostics.diagnosis.record import Suggestion

NIM = "game: toy\noptions: {game: nim}\nfleet: {hosts: 1, matches: 16}\nlearner: {decisions: 512, minibatch: 128}\n"


@pytest.mark.timeout(600)  # two trials of training, each of which starts its own processes
def test_the_whole_is_measured_concluded_from_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "REPEATS", 2)
    (tmp_path / "nim.yaml").write_text(NIM)
    words = ("diagnose", "nim.yaml", "--seconds", "0.5", "--save", "before")
    first = ludus_here(tmp_path, *words)
    assert first.returncode == 0, first.stderr
    found = record.read(tmp_path / "before")
    assert found.failures == {}
    for name in (record.ENV_RATE, record.PLAY_RATE, record.ROW_RATE, record.UPDATE_RATE, record.WHOLE_RATE):
        assert (found.median(name) or 0) > 0, name
    ms, p95, p99 = (found.measures[name] for name in (record.BATCH_MS, record.BATCH_P95, record.BATCH_P99))
    assert 0 < ms.median < 1000
    assert 0 < p95.median <= p99.median
    assert 0 < (found.median("transport/host_round_trip_ms") or 0) < 1000
    assert len(found.measures[record.WHOLE_RATE].samples) == 2
    assert {each.part for each in found.ceilings} == {"simulation", "inference", "recording", "updates"}
    assert all(each.factor >= 1 for each in found.ceilings)
    assert "Ceilings: if" in first.stdout
    assert sorted(path.name for path in (tmp_path / "before").iterdir()) == [
        "diagnosis.json",
        "diagnosis.md",
        "diagnosis.png",
    ]

    again = ludus_here(
        tmp_path, "diagnose", "nim.yaml", "--seconds", "0.5", "--test", "env", "--against", "before", "--save", "after"
    )
    assert again.returncode == 0, again.stderr
    assert "Compared with the other diagnosis" in again.stdout
    assert "The machine itself ran at" in again.stdout
    assert "learner/decisions_per_s" not in (tmp_path / "after" / "diagnosis.md").read_text()
    assert psutil.Process().children(recursive=True) == []


def test_a_finished_run_is_diagnosed_with_its_weights_and_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "nim.yaml").write_text(NIM + "budget: {minutes: 0, updates: 3}\nevaluation: {matches: 2}\n")
    assert ludus_here(tmp_path, "train", "nim.yaml", "--run-dir", "run").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    done = ludus_here(tmp_path, "diagnose", "run", "--seconds", "0.5", "--test", "inference,learner", "--save", "out")
    assert done.returncode == 0, done.stderr
    found = record.read(tmp_path / "out")
    assert found.settings["start_from"] == "run"
    assert found.failures == {}
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_a_suggestion_is_checked_by_training_with_and_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "PAIRS", 1)
    config = resolve(
        {"game": "toy", "options": {"game": "nim"}, "fleet": {"hosts": 1, "matches": 16}, "mode": "serial"}
    ).config
    told: list[str] = []
    plan = trials.TrialPlan(config, tmp_path / "trials", 0.5, "")
    found = trials.check(plan, Suggestion({"mode": "overlapped"}, 1.3, "they then work together"), told.append)
    assert told == ["the present settings, trial 1 of 1", "mode=overlapped, trial 1 of 1"]
    assert found.checked is not None
    assert found.checked.failure == ""
    assert found.checked.low <= found.checked.ratio <= found.checked.high
    assert found.gain == 1.3
    broken = trials.check(plan, Suggestion({"fleet.matches": 70_000}, 2.0, ""), told.append)
    assert broken.checked is not None
    assert broken.checked.failure.startswith("fleet.matches: ")


def test_what_fails_is_said_and_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    bad = ludus_here(tmp_path, "diagnose", "nim", "--test", "hosts")
    assert (bad.returncode, bad.stderr.split(";")[0]) == (2, "ludus: --test: there is no stage 'hosts'")
    (tmp_path / "empty").mkdir()
    assert "empty holds no run" in ludus_here(tmp_path, "diagnose", "empty").stderr
    assert "--against: there is no diagnosis" in ludus_here(tmp_path, "diagnose", "nim", "--against", "x.json").stderr
    broken = ludus_here(
        tmp_path,
        *("diagnose", "--game", "command:python3 -c 1", "--test", "env", "--seconds", "0.5", "--save", "out"),
        *("--set", "fleet.failures_in_a_row=1", "--set", "fleet.hosts=1"),
    )
    assert broken.returncode == 2
    assert "no stage could be measured" in broken.stderr
    assert "hosts without a policy: failed" in broken.stdout
