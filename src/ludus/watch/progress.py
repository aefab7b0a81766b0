"""Follows the progress.csv of a run that may still be written: rows in buckets, and the latest row.

A long file is read in pieces, a bounded time per call. Until all of it has been read, rows at evenly spaced places of
the rest stand for it, so that a file of a gigabyte is shown at once and becomes exact while it is watched.
"""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ludus.metrics import names
from ludus.watch.runs_folder import PROGRESS, opened
from ludus.watch.thinning import Buckets, Table

BLOCK_BYTES = 1 << 17  # read at once
LONGEST_ROW = 1 << 20  # bytes; a longer line is damage
MOST_COLUMNS = 4096
SAMPLES = 200  # rows that stand for the unread part of a file
TEXTS = frozenset(metric.name for metric in names.METRICS if metric.unit == "text")


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of a progress.csv, one value per bucket. NaN: no value."""

    columns: tuple[str, ...]
    mean: Table
    low: Table
    high: Table
    rows: int  # rows that the values cover
    is_exact: bool  # False: some of the values are those of single rows, because the file is not yet read to its end


class ProgressTable:
    """The progress.csv of one run. Not thread-safe."""

    def __init__(self, run: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock_s = clock_s
        self._starts = 0
        self._identity = (-1, -1)  # device and number of the file that is being read
        self._size = self._offset = 0
        self._forget()

    def advance(self, budget_s: float = 0.2) -> None:
        """Read rows that were added since the last call, for about `budget_s`. A missing or unreadable file has no
        rows. A file that was replaced, as a resumed run does, is read from its start."""
        try:
            with opened(self._run, PROGRESS) as file:
                state = os.fstat(file.fileno())
                identity = (state.st_dev, state.st_ino)
                if identity != self._identity or state.st_size < self._offset:
                    self._forget()
                    self._identity = identity
                if state.st_size != self._size or self._offset < state.st_size:
                    self._read(file, state.st_size, self._clock_s() + budget_s)
        except OSError:
            self._forget()

    @property
    def latest(self) -> dict[str, float | str]:
        """The latest complete row, without empty cells."""
        return self._latest

    @property
    def columns(self) -> tuple[str, ...]:
        return self._columns

    @property
    def damaged(self) -> int:
        """Number of lines that cannot be parsed, so far."""
        return self._damaged

    @property
    def not_finite(self) -> int:
        """Number of cells that hold NaN or infinity, so far."""
        return self._not_finite

    @property
    def revision(self) -> str:
        """Return a text that changes whenever the numbers change."""
        return f"{self._starts}-{self._size}-{self._offset}"

    def series(self, column_names: Iterable[str]) -> Series:
        """Return the columns of these names that the file has."""
        place = {name: at for at, name in enumerate(self._columns)}
        columns = [name for name in dict.fromkeys(column_names) if name in place]
        at = [place[name] for name in columns]
        thinned = self._buckets.thinned(at)
        rest = self._samples[:, at]
        mean, low, high = (np.concatenate([part, rest]) for part in (thinned.mean, thinned.low, thinned.high))
        return Series(tuple(columns), mean, low, high, self._buckets.rows, not len(rest))

    def _forget(self) -> None:
        self._identity = (-1, -1)
        self._starts += 1
        self._size = self._offset = self._damaged = self._not_finite = 0
        self._columns: tuple[str, ...] = ()
        self._texts: tuple[int, ...] = ()
        self._latest: dict[str, float | str] = {}
        self._buckets = Buckets(0)
        self._samples: Table = np.empty((0, 0))

    def _read(self, file: BinaryIO, size: int, until_s: float) -> None:
        self._size = size
        if not self._columns and not self._read_header(file):
            return
        while self._offset < size:
            file.seek(self._offset)
            block = file.read(min(BLOCK_BYTES, size - self._offset))
            end = block.rfind(b"\n") + 1
            if not end and not (end := self._past_long_line(file, size)):
                break  # the last row is still being written
            rows = self._rows(block[:end])
            self._buckets.add(rows)
            self._offset += end
            if self._clock_s() >= until_s:
                break
        self._sample(file, size)
        self._read_latest(file, size)

    def _read_header(self, file: BinaryIO) -> bool:
        header = file.readline(LONGEST_ROW)
        columns = cells_of(header)
        if not header.endswith(b"\n") or names.TRAINING_S not in columns or len(columns) > MOST_COLUMNS:
            self._damaged = int(len(header) == LONGEST_ROW or header.endswith(b"\n"))
            return False
        self._columns = tuple(columns)
        self._texts = tuple(at for at, name in enumerate(columns) if name in TEXTS)
        self._buckets = Buckets(len(columns))
        self._samples = np.empty((0, len(columns)))
        self._offset = len(header)
        return True

    def _past_long_line(self, file: BinaryIO, size: int) -> int:
        """Return the length of a line that is longer than a block, or 0 if its end is not there yet."""
        file.seek(self._offset)
        line = file.readline(LONGEST_ROW)
        if line.endswith(b"\n") or len(line) == LONGEST_ROW:
            self._damaged += len(line) == LONGEST_ROW
            return len(line)
        return 0

    def _rows(self, block: bytes) -> Table:
        """Parse complete lines."""
        rows = [row for row in self._parsed(block.split(b"\n")) if row is not None]
        table: Table = np.array(rows) if rows else np.empty((0, len(self._columns)))
        table[~np.isfinite(table)] = np.nan
        return table

    def _parsed(self, lines: Sequence[bytes]) -> Iterator[list[float] | None]:
        count, texts = len(self._columns), self._texts
        time_at = self._columns.index(names.TRAINING_S)
        for line in lines:
            if not line or line == b"\r":
                continue
            cells = cells_of(line)
            if len(cells) != count or not _is_finite(cells[time_at]):
                self._damaged += 1
                continue
            for at in texts:
                cells[at] = ""
            try:
                row = [float(cell) if cell else math.nan for cell in cells]
            except ValueError:
                row = [_number(cell) for cell in cells]
            self._not_finite += sum(cell in ("nan", "inf", "-inf") for cell in cells)
            yield row

    def _sample(self, file: BinaryIO, size: int) -> None:
        """Take rows at evenly spaced places of the part that is not read yet."""
        self._samples = np.empty((0, len(self._columns)))
        rest = size - self._offset
        if rest <= BLOCK_BYTES:
            return
        damaged, not_finite = self._damaged, self._not_finite  # counted when these rows are read
        lines = []
        for index in range(SAMPLES):
            file.seek(self._offset + index * rest // SAMPLES)
            file.readline(LONGEST_ROW)  # the rest of a row
            line = file.readline(LONGEST_ROW)
            if line.endswith(b"\n"):
                lines.append(line)
        self._samples = self._rows(b"".join(dict.fromkeys(lines)))
        self._damaged, self._not_finite = damaged, not_finite

    def _read_latest(self, file: BinaryIO, size: int) -> None:
        file.seek(max(0, size - BLOCK_BYTES))
        for line in reversed(file.read(BLOCK_BYTES).split(b"\n")[1:-1]):
            cells = cells_of(line)
            if len(cells) == len(self._columns):
                row = zip(self._columns, cells, strict=True)
                self._latest = {name: cell if name in TEXTS else _number(cell) for name, cell in row if cell}
                return


def cells_of(line: bytes) -> list[str]:
    """Parse a line. Returns [] if it is no valid row."""
    if b"\0" in line:
        return []
    try:
        text = line.decode("utf-8").rstrip("\r\n")
        if '"' not in text:
            return text.split(",")
        (cells,) = csv.reader([text], strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError):
        return []
    return cells


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _is_finite(cell: str) -> bool:
    return math.isfinite(_number(cell))
