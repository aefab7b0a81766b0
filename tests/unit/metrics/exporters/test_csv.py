from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ludus.metrics import names
from ludus.metrics.exporters import csv


def test_columns_stand_in_the_order_of_the_names_page(tmp_path: Path) -> None:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        progress.on_progress({names.KL: 0.1, names.TRAINING_S: 1.0, names.UPDATES: 3})
    header = (tmp_path / "progress.csv").read_text().splitlines()[0]
    assert header == ",".join([names.TRAINING_S, names.UPDATES, names.KL])


def test_a_number_that_appears_later_gets_its_column_and_old_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    with csv.ProgressCsv(path) as progress:
        progress.on_progress({names.TRAINING_S: 1.0, names.KL: 0.1})
        progress.on_evaluation([SimpleNamespace(opponent="random", win_rate=0.9)])
        progress.on_progress({names.TRAINING_S: 2.0, names.KL: 0.2})
        progress.on_progress({names.TRAINING_S: 3.0})
    rows = csv.read(path)
    assert [row[names.TRAINING_S] for row in rows] == ["1.0", "2.0", "3.0"]
    assert [row[names.WIN_RATE("random")] for row in rows] == ["", "0.9", "0.9"]
    assert [row[names.KL] for row in rows] == ["0.1", "0.2", ""]


def test_a_resumed_run_goes_on_behind_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    with csv.ProgressCsv(path) as progress:
        for second in (1.0, 2.0, 3.0, 4.0):
            progress.on_progress({names.TRAINING_S: second, names.UPDATES: second})
    with csv.ProgressCsv(path) as progress:
        for second in (2.5, 3.5):
            progress.on_progress({names.TRAINING_S: second, names.LR: 0.1})
    rows = csv.read(path)
    assert [float(row[names.TRAINING_S]) for row in rows] == [1.0, 2.0, 2.5, 3.5]
    assert [row[names.LR] for row in rows] == ["", "", "0.1", "0.1"]


def test_a_row_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_text(f"{names.TRAINING_S},{names.UPDATES},{names.KL}\n1.0,1,0.1\n2.0,")
    with csv.ProgressCsv(path) as progress:
        progress.on_progress({names.TRAINING_S: 2.0, names.UPDATES: 2, names.KL: 0.2})
    assert [row[names.UPDATES] for row in csv.read(path)] == ["1", "2"]


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_file_is_begun_anew(tmp_path: Path, content: str) -> None:
    path = tmp_path / "progress.csv"
    path.write_text(content)
    with csv.ProgressCsv(path) as progress:
        progress.on_progress({names.TRAINING_S: 2.0})
    assert csv.read(path) == [{names.TRAINING_S: "2.0"}]
