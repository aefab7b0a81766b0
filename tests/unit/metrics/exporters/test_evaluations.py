from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from ludus.metrics import names
from ludus.metrics.exporters.evaluations import EvaluationLog, Score, read
from ludus.metrics.observer import Result


def result(opponent: str, wins: int) -> Result:
    return SimpleNamespace(
        opponent=opponent, matches=100, wins=wins, losses=100 - wins, ties=0, reward=0.5, reward_interval=(0.4, 0.6)
    )


def test_each_evaluation_is_one_line_with_its_time(tmp_path: Path) -> None:
    log = EvaluationLog(tmp_path / "evaluations.jsonl")
    log.on_progress({names.TRAINING_S: 12.5, names.UPDATES: 7, names.DECISIONS: 999})
    log.on_evaluation([result("random", 90), result("heuristic", 40)])
    (line,) = read(tmp_path / "evaluations.jsonl")
    assert (line.training_s, line.updates, line.decisions, line.final) == (12.5, 7, 999, False)
    assert line.scores == (
        Score("random", 100, 90, 10, 0, 0.5, (0.4, 0.6)),
        Score("heuristic", 100, 40, 60, 0, 0.5, (0.4, 0.6)),
    )


def test_a_resumed_run_drops_what_it_plays_again_and_the_old_end(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    log = EvaluationLog(path)
    for second in (10.0, 20.0, 30.0):
        log.on_progress({names.TRAINING_S: second})
        log.on_evaluation([result("random", 50)])
    log.on_evaluation([result("random", 50)], final=True)
    again = EvaluationLog(path)
    again.on_progress({names.TRAINING_S: 25.0})
    again.on_evaluation([result("random", 80)], final=True)
    assert [(each.training_s, each.final) for each in read(path)] == [(10.0, False), (20.0, False), (25.0, True)]


def test_a_line_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    log = EvaluationLog(path)
    log.on_evaluation([result("random", 50)])
    path.write_bytes(path.read_bytes() + b'{"training_s": 3')
    assert len(read(path)) == 1
    assert read(tmp_path / "nothing.jsonl") == []


def test_a_line_with_more_wins_than_matches_or_bytes_that_are_no_text_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    log = EvaluationLog(path)
    log.on_evaluation([result("random", 50)])
    log.on_evaluation([result("random", 101)])
    path.write_bytes(path.read_bytes() + b'{"training_s": 1, "x": "\xff"}\n')
    assert [line.scores[0].wins for line in read(path)] == [50]
