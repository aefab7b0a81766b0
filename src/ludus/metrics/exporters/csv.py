"""progress.csv: one row per report. Handles resumed runs, columns added later, a full disk and damaged lines."""

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
    """Appends rows to the progress.csv of a run, which may have been resumed.

    A resumed run drops the rows after its checkpoint, so that time always increases. Columns are in the order of
    names.py; when a new number appears, the file is rewritten with its column. Raises OSError if a row cannot be
    written; the file then stays as it was. A file with damaged lines is kept under another name, and its intact rows
    are copied.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._win_rates: dict[str, float] = {}
        self._begun_s: float | None = None  # training time of the first row
        self._file: Appender | None = None  # None until the file has the columns of this run

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
        """Rewrite the file with the rows before `before_s` and all columns of `row`. Returns it opened for
        appending."""
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
    damaged: int = 0  # number of lines that cannot be parsed
    cut_short: bool = False  # the last line is incomplete, as after a crash


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a progress.csv, or [] if there is no file. Damaged lines are skipped and logged."""
    try:
        table = scan(path)
    except OSError as error:
        log.warning("%s cannot be read: %s", path, files.reason(error))
        return []
    if table.damaged:
        _tell(path, table, "left as it is")
    return table.rows


def scan(path: Path) -> Table:
    """Read a progress.csv line by line, so that a damaged line does not affect others. Raises OSError.

    Returns no rows if the header is damaged.
    """
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
    """Parse a line. Returns [] if it is not valid UTF-8."""
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
        # A row never spans lines, so that a reader finds the next row after a damaged one.
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
