"""progress.csv: one row a report. Survives a resumed run, columns that appear later, a full disk and damaged lines."""

from __future__ import annotations

import csv
import io
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ludus import files
from ludus.files import Appender
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result

log = logging.getLogger(__name__)


class ProgressCsv:
    """Appends to a file that another part of the same run may have begun.

    The rows which a resumed run plays again (those after its checkpoint) are dropped, so that time only grows. Columns
    stand in the order of names.py; when a number appears for the first time the file is written anew with its column.
    Raises OSError; the file is then as it was, without the row. A file with damaged lines is kept beside the one that
    goes on with the others.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._win_rates: dict[str, float] = {}
        self._begun_s: float | None = None  # time of the first row
        self._file: Appender | None = None  # None until the file holds this run's columns

    def on_progress(self, numbers: Numbers) -> None:
        row = {**self._win_rates, **numbers}
        if self._begun_s is None:
            self._begun_s = _time(row)
        if self._file is None:
            self._file = self._rewritten(row, before_s=self._begun_s)
        elif not row.keys() <= set(self._columns):
            self._file = self._rewritten(row)
        self._file.write(_encoded([row], self._columns))

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._win_rates.update({names.WIN_RATE(result.opponent): result.win_rate for result in results})

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> ProgressCsv:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rewritten(self, row: Mapping[str, object], before_s: float = math.inf) -> Appender:
        """The file with the rows before that time and with room for the columns of `row`."""
        table = scan(self._path)
        earlier_rows = [old for old in table.rows if _time(old) < before_s]
        columns = names.ordered({*row, *(earlier_rows[0] if earlier_rows else ())})
        header = _encoded([dict(zip(columns, columns, strict=True))], columns)
        aside = files.aside(self._path) if table.damaged else None
        files.replace(self._path, header + _encoded(earlier_rows, columns), aside=aside)
        if aside is not None:
            _tell(self._path, table, f"kept as {aside.name}")
        self.close()
        self._columns = columns
        return Appender(self._path)


@dataclass(frozen=True, slots=True)
class Table:
    rows: list[dict[str, str]]
    damaged: int = 0  # lines that are no row
    cut_short: bool = False  # the last line is: what a crash leaves behind


def read(path: Path) -> list[dict[str, str]]:
    """Return the whole rows of a progress.csv, [] if there is no file. Damaged lines are left out and logged."""
    try:
        table = scan(path)
    except OSError as error:
        log.warning("%s cannot be read: %s", path, files.reason(error))
        return []
    if table.damaged:
        _tell(path, table, "left as it is")
    return table.rows


def scan(path: Path) -> Table:
    """Read a progress.csv line by line, so that damage to one costs no other. Without its header nothing can be read.
    Raises OSError."""
    columns: list[str] = []
    rows: list[dict[str, str]] = []
    damaged, cut_short = 0, False
    for line in files.lines(path):
        cells = _cells(line)
        damaged, cut_short = damaged + cut_short, False
        if not columns:
            columns = cells
            if names.TRAINING_S not in columns:
                return Table([], damaged=1)
        elif len(cells) == len(columns) and _is_number(cells[columns.index(names.TRAINING_S)]):
            rows.append(dict(zip(columns, cells, strict=True)))
        else:
            cut_short = True  # so far
    return Table(rows, damaged, cut_short)


def _cells(line: bytes | None) -> list[str]:
    """[] for a line that is not text."""
    if line is None or b"\0" in line:
        return []
    try:
        (cells,) = csv.reader([line.decode("utf-8")], strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError):
        return []
    return cells


def _encoded(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in rows:
        cells = (row.get(column, "") for column in columns)
        # one line a row, whatever a text says: a reader finds the next row behind a damaged one
        writer.writerow([" ".join(cell.splitlines()) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue().encode("utf-8", "replace")


def _tell(path: Path, table: Table, fate: str) -> None:
    log.warning(
        "%s has %d damaged lines, which are left out; %d rows can be read. The damaged file is %s",
        path,
        table.damaged,
        len(table.rows),
        fate,
    )


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _time(row: Mapping[str, object]) -> float:
    try:
        return float(str(row[names.TRAINING_S]))
    except (KeyError, ValueError):
        return -math.inf
