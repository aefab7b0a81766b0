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


HEADER = f"{names.TRAINING_S},{names.UPDATES},{names.KL}\r\n".encode()
DAMAGE = {
    "binary": bytes(range(256)) * 4 + b"\n",
    "latin-1": b"1.5,\xe9,0.1\r\n",
    "NUL": b"1.5,\x00\x00,0.1\r\n",
    "a quote without end": b'1.5,"2,0.1\r\n',
    "a huge field": b"1.5," + b"9" * 1_000_000 + b",0.1\r\n",
    "too many cells": b"1.5,2,0.1,7\r\n",
    "text for a time": b"then,2,0.1\r\n",
    "two rows in one": b"1.5,2,0.1.7,3,0.2\r\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_costs_no_other_and_the_file_is_kept_aside(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "progress.csv"
    content = HEADER + b"1.0,1,0.1\r\n" + DAMAGE[damage] + b"2.0,2,0.2\r\n3.0,3,0.3\r\n"
    path.write_bytes(content)
    assert [row[names.UPDATES] for row in csv.read(path)] == ["1", "2", "3"]
    with csv.ProgressCsv(path) as progress:
        progress.on_progress({names.TRAINING_S: 3.0, names.UPDATES: 4, names.KL: 0.4})
    assert [row[names.UPDATES] for row in csv.read(path)] == ["1", "2", "4"]
    assert (tmp_path / "progress.csv.damaged").read_bytes() == content
    assert "damaged lines, which are left out" in caplog.text


@pytest.mark.parametrize("header", [b"\x7fELF\x02\x01\x01\n", b"1.0,1,0.1\r\n", b"\x00" * 5000])
def test_a_file_without_its_header_is_kept_aside_and_begun_anew(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "progress.csv"
    path.write_bytes(header + b"1.0,1,0.1\r\n")
    with csv.ProgressCsv(path) as progress:
        progress.on_progress({names.TRAINING_S: 3.0})
    assert csv.read(path) == [{names.TRAINING_S: "3.0"}]
    assert (tmp_path / "progress.csv.damaged").exists()


def test_a_text_with_a_line_break_stays_in_its_row(tmp_path: Path) -> None:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        progress.on_progress({names.TRAINING_S: 1.0, names.STAGE_NAME: 'the "first"\nstage, of 2'})
    assert [row[names.STAGE_NAME] for row in csv.read(tmp_path / "progress.csv")] == ['the "first" stage, of 2']


def test_a_file_that_cannot_be_read_is_no_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "progress.csv").mkdir()
    assert csv.read(tmp_path / "progress.csv") == []
    assert "cannot be read: Is a directory" in caplog.text
