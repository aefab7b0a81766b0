"""What a run says of itself in progress.csv, read from outside while it is being written."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.storm.accounting import numbers_of

from ludus.metrics import names

TAIL_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Report:
    """The last whole row; `file` is another number after the run has written the file anew."""

    file: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def updates(self) -> int:
        return int(self.numbers.get(names.UPDATES, 0))

    @property
    def training_s(self) -> float:
        return self.numbers.get(names.TRAINING_S, 0.0)

    @property
    def complete(self) -> bool:
        """Whether all hosts play, and all servers take matches."""
        pairs = ((names.HOSTS_ALIVE, names.HOSTS_TOTAL), (names.SERVERS_ALIVE, names.SERVERS_TOTAL))
        return all(self.numbers.get(alive, 0) == self.numbers.get(total, 0) for alive, total in pairs)


def latest(path: Path) -> Report:
    """An empty report where there is none, or none that can be read."""
    try:
        with path.open("rb") as file:
            number, size = os.fstat(file.fileno()).st_ino, os.fstat(file.fileno()).st_size
            head = file.readline().decode()
            file.seek(max(len(head), size - TAIL_BYTES))
            lines = file.read().decode().split("\n")
        columns = next(csv.reader([head]))
        for line in reversed(lines[:-1]):
            cells = next(csv.reader([line]), [])
            if len(cells) == len(columns):
                return Report(number, numbers_of(dict(zip(columns, cells, strict=True))))
    except (OSError, UnicodeDecodeError, StopIteration, csv.Error):
        return Report()
    return Report(number)
