from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ludus.metrics import names
from ludus.metrics.exporters.evaluations import EvaluationLog, Score, read, scan
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


DAMAGE = {
    "binary": bytes(range(256)) + b"\n",
    "latin-1": b'{"training_s": 1, "opponent": "\xe9"}\n',
    "NUL": b"\x00" * 4096 + b"\n",
    "deep": b"[" * 100_000 + b"\n",
    "another document": b'{"hello": 1}\n',
    "impossible": b'{"training_s":1,"updates":1,"decisions":1,"final":false,"scores":[{"opponent":"random",'
    b'"matches":1,"wins":5,"losses":0,"ties":0}]}\n',
    "half a line": b'{"training_s": 3',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_costs_no_other_and_the_file_is_kept_aside(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "evaluations.jsonl"
    with EvaluationLog(path) as log:
        for second in (10.0, 20.0):
            log.on_progress({names.TRAINING_S: second})
            log.on_evaluation([result("random", 50)])
    first, second_line = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + DAMAGE[damage].removesuffix(b"\n") + b"\n" + second_line)
    assert [each.training_s for each in read(path)] == [10.0, 20.0]
    with EvaluationLog(path) as log:
        log.on_progress({names.TRAINING_S: 25.0})
        log.on_evaluation([result("random", 60)])
    assert [each.training_s for each in read(path)] == [10.0, 20.0, 25.0]
    assert scan(path).damaged == 0
    assert (tmp_path / "evaluations.jsonl.damaged").exists()
    assert " damaged lines, which are left out" in caplog.text


def test_an_evaluation_behind_a_line_that_was_cut_short_is_not_lost_with_it(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    path.write_bytes(b'{"training_s": 3')
    with EvaluationLog(path) as log:
        log.on_progress({names.TRAINING_S: 5.0})
        log.on_evaluation([result("random", 60)])
    assert [each.training_s for each in read(path)] == [5.0]


def test_an_evaluation_that_cannot_be_written_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    path.mkdir()  # nothing can be written there
    with EvaluationLog(path) as log:
        for second in (10.0, 20.0):
            with pytest.raises(OSError, match="Is a directory"):
                log.on_progress({names.TRAINING_S: second})
            with pytest.raises(OSError, match="Is a directory"):
                log.on_evaluation([result("random", 50)])
        path.rmdir()
        log.on_progress({names.TRAINING_S: 30.0})
        assert [each.training_s for each in read(path)] == [10.0, 20.0]


def test_a_rating_is_kept_and_lines_without_one_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    log = EvaluationLog(path)
    log.on_progress({names.TRAINING_S: 1.0})
    log.on_evaluation([result("random", 50)])
    log.on_progress({names.TRAINING_S: 2.0, names.ELO: 1100.0, names.ELO_LOW: 1050.0, names.ELO_HIGH: 1150.0})
    log.on_evaluation([result("random", 60)])
    earlier = path.read_bytes().splitlines()[0].replace(b',"elo":null,"elo_interval":null', b"")
    assert b"elo" not in earlier
    path.write_bytes(earlier + b"\n" + path.read_bytes().splitlines()[1] + b"\n")
    assert [(each.elo, each.elo_interval) for each in read(path)] == [(None, None), (1100.0, (1050.0, 1150.0))]
