"""The results log of a league: one line per match between two members, appended and never rewritten.

Every writer has a file of its own, named after its machine, process and start, so writers never wait for each other and
a killed one leaves at most one incomplete line. A line is a CRC-32 and a JSON array (`MatchRecord`):

    5f0c2a91 ["gen1-7@u120","scripted:heuristic",7123,1.0,"",false]

Lines that are cut short or damaged are left out and counted. Ratings, tables and pictures follow from the log.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated
from zlib import crc32

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ludus.errors import LeagueError
from ludus.files import Appender, reason
from ludus.league.payoff import Payoff

FOLDER, SUFFIX = "results", ".log"
NAME_LENGTH = 100  # characters of a member's name
LINE_BYTES = 1024  # a longer line is damage
FILE_BYTES = 1 << 28  # a writer then begins another file; a reader refuses larger ones
LOG_BYTES = 1 << 33  # of all files of a league

Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]


class MatchRecord(Struct, frozen=True, array_like=True):
    """A finished match."""

    first: Name  # the member that played the first team
    second: Name  # the member that played the other one
    seed: Annotated[int, Meta(ge=0, lt=2**53)]
    score: Annotated[float, Meta(ge=0.0, le=1.0)]  # of `first`: 1 won, 0.5 tied, 0 lost
    forfeit: Annotated[str, Meta(max_length=40)] = ""  # why a member lost without losing: "crashed", "illegal action"
    truncated: bool = False


class ResultsWriter:
    """Appends to a new file of the log. The file is made with the first record.

    `add` raises LeagueError if the record cannot be written, for example because the disk is full. The log is then as
    it was before.
    """

    def __init__(self, league: Path) -> None:
        self._folder = league / FOLDER
        self._writer = f"{re.sub(r'[^A-Za-z0-9.]+', '-', socket.gethostname())[:60]}-{os.getpid()}"
        self._bytes = 0
        self._file = self._next()
        self.matches = 0  # written so far

    def add(self, record: MatchRecord) -> None:
        """Write a record."""
        line = encoded(record)
        if self._bytes + len(line) > FILE_BYTES:
            self._file.close()
            self._file, self._bytes = self._next(), 0
        try:
            self._file.write(line)
        except OSError as error:
            raise LeagueError(
                f"the result of a match cannot be written to {self._folder}: {reason(error)}; the {self.matches} "
                "results before it are in the log. Make room and start again: the log is whole"
            ) from error
        self._bytes += len(line)
        self.matches += 1

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ResultsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next(self) -> Appender:
        return Appender(self._folder / f"{self._writer}-{time.time_ns()}{SUFFIX}")


@dataclass(frozen=True, slots=True)
class Results:
    """All matches of a league's log, and what could not be read."""

    records: list[MatchRecord]
    cut: int = 0  # incomplete last lines
    damaged: int = 0  # other lines that cannot be read
    unknown: int = 0  # matches with someone who is no member, or of a member with itself
    unreadable: Mapping[str, str] = field(default_factory=dict)  # files that cannot be read, with the reason

    @property
    def trouble(self) -> str:
        """Return a sentence about what could not be read, or an empty text."""
        counts = (
            (self.cut, "lines cut short"),
            (self.damaged, "damaged lines"),
            (self.unknown, "matches of unknown members"),
        )
        parts = [f"{count:,} {what}" for count, what in counts if count]
        parts += [f"{name} ({why})" for name, why in self.unreadable.items()]
        return f"left out of the results: {', '.join(parts)}" if parts else ""

    @property
    def forfeits(self) -> Counter[str]:
        """Return how many matches each member forfeited."""
        return Counter(
            record.second if record.score > 0.5 else record.first for record in self.records if record.forfeit
        )

    def payoff(self, names: Collection[str]) -> Payoff:
        """Count the matches between these members."""
        within = [record for record in self.records if record.first in names and record.second in names]
        return Payoff.of(
            names,
            [record.first for record in within],
            [record.second for record in within],
            np.array([record.score for record in within], np.float64),
            np.array([record.seed for record in within], np.int64),
        )

    def of(self, names: Collection[str]) -> Results:
        """Return the results without matches of others than these members, which are counted."""
        records = [each for each in self.records if each.first in names and each.second in names]
        records = [each for each in records if each.first != each.second]
        return Results(records, self.cut, self.damaged, len(self.records) - len(records), self.unreadable)


def encoded(record: MatchRecord) -> bytes:
    """Return the line of a record."""
    body = msgspec.json.encode(record)
    return b"%08x %s\n" % (crc32(body), body)


def read(league: Path) -> Results:
    """Read the whole log, also while others write to it. Raises LeagueError if the folder cannot be read or holds more
    than `LOG_BYTES`."""
    records: list[MatchRecord] = []
    cut = damaged = total = 0
    unreadable: dict[str, str] = {}
    for path in _files(league):
        try:
            size = path.stat().st_size
            if size > 2 * FILE_BYTES:
                raise LeagueError(f"it has {size:,} bytes, expected at most {FILE_BYTES:,}")
            data = path.read_bytes()
        except (OSError, LeagueError) as error:
            unreadable[path.name] = reason(error)
            continue
        total += len(data)
        if total > LOG_BYTES:
            raise LeagueError(f"{league / FOLDER} holds more than {LOG_BYTES:,} bytes of results; begin another league")
        part = parse(data)
        records += part.records
        cut, damaged = cut + part.cut, damaged + part.damaged
    return Results(records, cut, damaged, 0, unreadable)


def parse(data: bytes) -> Results:
    """Read the lines of one file."""
    lines = data.split(b"\n")
    bodies = [line[9:] for line in lines if _is_whole(line)]
    is_cut = bool(lines[-1]) and not _is_whole(lines[-1])
    damaged = sum(map(bool, lines)) - len(bodies) - is_cut
    try:
        return Results(_decode(bodies), int(is_cut), damaged)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # a line with a valid checksum, but not from a writer
        records: list[MatchRecord] = []
        for body in bodies:
            try:
                records += _decode([body])
            except (msgspec.MsgspecError, ValueError, RecursionError):
                damaged += 1
        return Results(records, int(is_cut), damaged)


def _is_whole(line: bytes) -> bool:
    return 9 < len(line) <= LINE_BYTES and line[:9] == b"%08x " % crc32(line[9:])


def _decode(bodies: Sequence[bytes]) -> list[MatchRecord]:
    """Decode all lines at once, which is several times faster than one by one."""
    return msgspec.json.decode(b"[" + b",".join(bodies) + b"]", type=list[MatchRecord])


def _files(league: Path) -> list[Path]:
    try:
        return sorted((league / FOLDER).glob(f"*{SUFFIX}"))
    except OSError as error:
        raise LeagueError(f"{league / FOLDER} cannot be read: {reason(error)}") from error
