"""The table of all formats: what is finished is kept, what failed is named."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest
from benchmarks import bench_formats
from benchmarks.bench_formats import FormatResult

from ludus.metrics.exporters.evaluations import Evaluation, Score

SCORES = (Score("max_damage", 40, 36, 4, 0), Score("heuristic", 40, 30, 9, 1))
EVALUATION = Evaluation(60.0, 12, 123_456, True, SCORES)


def test_a_finished_format_is_not_trained_again(tmp_path: Path) -> None:
    folder = tmp_path / "gen3randombattle"
    folder.mkdir()
    scores = [{"opponent": "heuristic", "matches": 4, "wins": 3, "losses": 1, "ties": 0}]
    line = {"training_s": 60.0, "updates": 2, "decisions": 99, "final": True, "scores": scores}
    (folder / "evaluations.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    result = bench_formats.trained("gen3randombattle", folder, 0.0, 0, ())
    assert result.evaluation is not None
    assert result.evaluation.scores[0].wins == 3
    unfinished = {**line, "final": False}
    (folder / "evaluations.jsonl").write_text(json.dumps(unfinished) + "\n", encoding="utf-8")
    assert bench_formats.final_evaluation(folder) is None


def test_a_new_format_begins_from_the_preset_that_fits(tmp_path: Path) -> None:
    arguments = bench_formats.arguments_of("gen5randombattle", tmp_path / "gen5", 3.0, 100, ("seed=4",))
    assert arguments[0] == "gen9"
    assert "options.format=gen5randombattle" in arguments
    assert "budget.minutes=3" in arguments
    assert arguments[-1] == "seed=4"
    assert bench_formats.arguments_of("gen9randomdoublesbattle", tmp_path, 1, 1, ())[0] == "gen9doubles"


def test_a_format_with_a_checkpoint_is_resumed(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoints" / "u00000012"
    checkpoint.mkdir(parents=True)
    (checkpoint / "state.json").write_text("{}", encoding="utf-8")
    assert bench_formats.arguments_of("gen5randombattle", tmp_path, 3.0, 100, ()) == [
        "--resume",
        "--run-dir",
        str(tmp_path),
    ]


def test_the_table_names_results_and_failures() -> None:
    results = [
        FormatResult("gen1randombattle", EVALUATION),
        FormatResult("gen2randombattle", None, "did not end in time"),
    ]
    page = bench_formats.table(results, "title")
    assert "| gen1randombattle | 123,456 | 40 | 90.0% [76.9% to 96.0%] | 75.0% [59.8% to 85.8%] |" in page
    assert "| gen2randombattle | did not end in time |" in page
    summary = bench_formats.summary(results)
    assert summary["rows"] == {"gen1randombattle": {"max_damage": 0.9, "heuristic": 0.75}}
    assert summary["failures"] == {"gen2randombattle": "did not end in time"}


def test_formats_beside_each_other_have_cores_of_their_own() -> None:
    here = sorted(os.sched_getaffinity(0))
    parts = [here[:1], here[-1:]]
    meet = threading.Barrier(2, timeout=30)
    pinned: dict[str, set[int]] = {}

    def train(battle: str) -> FormatResult:
        meet.wait()
        pinned[battle] = os.sched_getaffinity(0)
        return FormatResult(battle, EVALUATION)

    results = list(bench_formats.beside(("a", "b", "c", "d"), parts, train))
    assert {result.format for result in results} == set("abcd")
    assert {tuple(cores) for cores in pinned.values()} == {tuple(part) for part in parts}
    assert sorted(os.sched_getaffinity(0)) == here


def test_more_formats_at_a_time_than_cores_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench_formats.py", "--beside", "100000"])
    with pytest.raises(SystemExit):
        bench_formats.main()
    assert "each format needs a core of its own" in capsys.readouterr().err
