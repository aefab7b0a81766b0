"""progress.csv while it is written, damaged, replaced or very long."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.watched import make_run, row

from ludus.metrics import names
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.watch.progress import BLOCK_BYTES, ProgressTable

HEAD = "progress/phase,progress/training_s,loss/value\n"


def followed(folder: Path, text: str) -> ProgressTable:
    (folder / "progress.csv").write_text(text)
    progress = ProgressTable(folder)
    progress.advance()
    return progress


def values(progress: ProgressTable, name: str) -> list[float]:
    series = progress.series([name])
    return [float(value) for value in series.mean[:, 0]]


def test_rows_of_a_running_run_are_followed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 5)
    progress = ProgressTable(run)
    progress.advance()
    before = progress.revision
    with ProgressCsv(tmp_path / "other.csv") as exporter:
        exporter.on_progress(row(5.0))
    with (run / "progress.csv").open("ab") as file:
        file.write((tmp_path / "other.csv").read_bytes().splitlines(keepends=True)[1])
    progress.advance()
    assert progress.revision != before
    assert values(progress, names.TRAINING_S) == [0, 1, 2, 3, 4, 5]
    assert progress.latest[names.DECISIONS_PER_S] == 1005.0
    assert progress.latest[names.PHASE] == "training"


def test_a_half_written_row_waits_for_its_end(tmp_path: Path) -> None:
    progress = followed(tmp_path, HEAD + "training,1,0.5\ntraining,2,0.2")
    assert values(progress, "loss/value") == [0.5]
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("5\n")
    progress.advance()
    assert values(progress, "loss/value") == [0.5, 0.25]
    assert progress.damaged == 0


def test_numbers_that_are_not_finite_are_counted_and_left_out(tmp_path: Path) -> None:
    progress = followed(tmp_path, HEAD + "training,1,nan\ntraining,2,inf\ntraining,3,-inf\ntraining,4,1e-3\n")
    assert [math.isnan(value) for value in values(progress, "loss/value")] == [True, True, True, False]
    assert progress.not_finite == 3


def test_damaged_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    progress = followed(tmp_path, HEAD + 'training,1,1\ngarbage\n"a,b",2,2\n\0,3,3\ntraining,,4\ntraining,5,word\n')
    assert values(progress, names.TRAINING_S) == [1, 2, 5]
    assert progress.damaged == 3


@pytest.mark.parametrize("text", ["", "no,header\n1,2\n", "progress/training_s", "\xff\xfe\n1\n", "\n\n\n"])
def test_a_file_without_a_header_of_ours_has_no_rows(tmp_path: Path, text: str) -> None:
    progress = followed(tmp_path, text)
    assert progress.columns == ()
    assert progress.series([names.TRAINING_S]).columns == ()


def test_a_file_that_a_resumed_run_replaces_is_read_again(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 10)
    progress = ProgressTable(run)
    progress.advance()
    with ProgressCsv(run / "progress.csv") as exporter:
        exporter.on_progress(row(4.0, **{"loss/policy": 0.1}))
    progress.advance()
    assert values(progress, names.TRAINING_S) == [0, 1, 2, 3, 4]
    assert "loss/policy" in progress.columns


def test_a_file_that_disappears_has_no_rows(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 10)
    progress = ProgressTable(run)
    progress.advance()
    (run / "progress.csv").unlink()
    progress.advance()
    assert progress.columns == ()
    assert progress.latest == {}


def test_a_link_that_leads_out_of_the_run_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(HEAD + "training,1,1\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "progress.csv").symlink_to(tmp_path / "secret.csv")
    progress = ProgressTable(tmp_path / "run")
    progress.advance()
    assert progress.columns == ()


def test_a_long_file_is_sampled_first_and_exact_later(tmp_path: Path) -> None:
    count = 60_000
    text = HEAD + "".join(f"training,{second},{second % 97}\n" for second in range(count))
    assert len(text) > 2 * BLOCK_BYTES
    (tmp_path / "progress.csv").write_text(text)
    progress = ProgressTable(tmp_path)
    progress.advance(budget_s=0.0)
    first = progress.series([names.TRAINING_S])
    assert not first.is_exact
    assert first.mean[-1, 0] > 0.95 * count  # samples reach to the end
    assert progress.latest[names.TRAINING_S] == count - 1
    for _ in range(20):
        progress.advance(budget_s=0.0)
    last = progress.series([names.TRAINING_S, "loss/value"])
    assert (last.rows, last.is_exact) == (count, True)
    assert last.low[0, 0] == 0
    assert last.high[-1, 0] == count - 1
    assert last.high[:, 1].max() == 96


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    progress = followed(tmp_path, HEAD + "training,1,1\n" + "x" * (3 << 20))
    assert values(progress, "loss/value") == [1.0]
