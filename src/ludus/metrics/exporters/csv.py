"""progress.csv: one row a report. Survives a resumed run and columns that appear later."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result


class ProgressCsv:
    """Appends to a file that another part of the same run may have begun.

    The rows which a resumed run plays again (those after its checkpoint) are dropped, so that time only grows. Columns
    stand in the order of names.py; when a number appears for the first time the file is written anew with its column.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: list[str] = []
        self._win_rates: dict[str, float] = {}
        self._begun = False
        self._file = path.open("a", newline="", encoding="utf-8")

    def on_progress(self, numbers: Numbers) -> None:
        row = {**self._win_rates, **numbers}
        if not self._begun:
            self._rewrite(row, before_s=_time(row))
            self._begun = True
        elif not row.keys() <= set(self._columns):
            self._rewrite(row)
        csv.DictWriter(self._file, self._columns).writerow(row)
        self._file.flush()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._win_rates.update({names.WIN_RATE(result.opponent): result.win_rate for result in results})

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ProgressCsv:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rewrite(self, row: Mapping[str, object], before_s: float = math.inf) -> None:
        """Keep the rows before that time, make room for the columns of `row`, and go on behind them."""
        kept = [old for old in read(self._path) if _time(old) < before_s]
        self._columns = names.ordered({*row, *(kept[0] if kept else ())})
        partial = self._path.with_name(self._path.name + ".partial")
        with partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(kept)
        self._file.close()
        os.replace(partial, self._path)
        self._file = self._path.open("a", newline="", encoding="utf-8")


def read(path: Path) -> list[dict[str, str]]:
    """The whole rows of a progress.csv; damaged ones, as one that a crash cut short, are left out. [] when there is no
    file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        return [row for row in _readable(csv.DictReader(file)) if None not in row and None not in row.values()]


def _readable(reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    while True:
        try:
            yield next(reader)
        except csv.Error:  # a field beyond the limit, a NUL
            continue
        except StopIteration:
            return


def _time(row: Mapping[str, object]) -> float:
    try:
        return float(str(row[names.TRAINING_S]))
    except (KeyError, ValueError):
        return -math.inf
