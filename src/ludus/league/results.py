"""The results log of a league: one line per match between two members, appended and never rewritten.

Every writer has a file of its own, named after its machine, process and start, so writers never wait for each other and
a killed one leaves at most one incomplete line. A line is a CRC-32 and a JSON array (`MatchRecord`):

    5f0c2a91 ["gen1-7@u120","scripted:heuristic",7123,1.0,"",false]

In games with more than two teams, the array begins with one of all members (`RankedMatch`):

    08d3e4b7 [["a","b","scripted:random"],7123,[0.0,1.0,0.5],["","",""],false]

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
from typing import Annotated, TypeVar
from zlib import crc32

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ludus.errors import LeagueError
from ludus.files import Appender, reason
from ludus.league.payoff import Payoff
from ludus.league.plackett_luce import Rankings, rate_rankings
from ludus.league.ratings import Ratings, rate

FOLDER, SUFFIX = "results", ".log"
NAME_LENGTH = 100  # characters of a member's name
MOST_TEAMS = 64
LINE_BYTES = 16_384  # a longer line is damage
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


class RankedMatch(Struct, frozen=True, array_like=True):
    """A finished match of more than two teams."""

    players: Annotated[tuple[Name, ...], Meta(min_length=3, max_length=MOST_TEAMS)]  # the member that played each team
    seed: Annotated[int, Meta(ge=0, lt=2**53)]
    score: tuple[Annotated[float, Meta(ge=0.0, le=1.0)], ...]  # of each team; the higher one came before the lower one
    # for each team why it lost without losing, as in `MatchRecord`; its score is then the lowest
    forfeit: tuple[Annotated[str, Meta(max_length=40)], ...]
    truncated: bool = False


Content = TypeVar("Content")
_PAIRS = msgspec.json.Decoder(list[MatchRecord])
_RANKED = msgspec.json.Decoder(list[RankedMatch])


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

    def add(self, record: MatchRecord | RankedMatch) -> None:
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
    ranked: list[RankedMatch] = field(default_factory=list)  # matches of more than two teams

    @property
    def trouble(self) -> str:
        """Return a sentence about what could not be read, or an empty text."""
        counts = (
            (self.cut, "line cut short", "lines cut short"),
            (self.damaged, "damaged line", "damaged lines"),
            (self.unknown, "match of unknown members", "matches of unknown members"),
        )
        parts = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count]
        parts += [f"{name} ({why})" for name, why in self.unreadable.items()]
        return f"left out of the results: {', '.join(parts)}" if parts else ""

    @property
    def forfeits(self) -> Counter[str]:
        """Return how many matches each member forfeited."""
        forfeits = Counter(
            record.second if record.score > 0.5 else record.first for record in self.records if record.forfeit
        )
        for match in self.ranked:
            forfeits.update({name for name, why in zip(match.players, match.forfeit, strict=True) if why})
        return forfeits

    def payoff(self, names: Collection[str]) -> Payoff:
        """Count the matches between these members; of more than two teams, who came before whom."""
        if self.ranked:
            return self.rankings(names).payoff()
        within = [record for record in self.records if record.first in names and record.second in names]
        return Payoff.of(
            names,
            [record.first for record in within],
            [record.second for record in within],
            np.array([record.score for record in within], np.float64),
            np.array([record.seed for record in within], np.int64),
        )

    def rankings(self, names: Collection[str]) -> Rankings:
        """Return the matches of more than two teams between these members. There must be one."""
        within = [match for match in self.ranked if set(match.players) <= set(names)]
        return Rankings.of(
            tuple(names),
            [match.players for match in within],
            [match.score for match in within],
            np.array([match.seed for match in within], np.int64),
        )

    def ratings(self, names: Collection[str], anchor: str | None = None) -> Ratings:
        """Rate these members by all of their matches."""
        return rate_rankings(self.rankings(names), anchor) if self.ranked else rate(self.payoff(names), anchor)

    def of(self, names: Collection[str]) -> Results:
        """Return only the matches between these members. The result counts the matches that are left out. A league has
        matches of one number of teams; matches of another number are left out, too."""
        records = [each for each in self.records if each.first in names and each.second in names]
        records = [each for each in records if each.first != each.second]
        members = set(names)
        ranked = [each for each in self.ranked if members.issuperset(each.players) and len(set(each.players)) > 1]
        if ranked:
            records, teams = [], len(ranked[0].players)
            ranked = [each for each in ranked if len(each.players) == teams]
        unknown = len(self.records) + len(self.ranked) - len(records) - len(ranked)
        return Results(records, self.cut, self.damaged, unknown, self.unreadable, ranked)


def encoded(record: MatchRecord | RankedMatch) -> bytes:
    """Return the line of a record."""
    body = msgspec.json.encode(record)
    return b"%08x %s\n" % (crc32(body), body)


def read(league: Path) -> Results:
    """Read the whole log, also while others write to it. Raises LeagueError if the folder cannot be read or holds more
    than `LOG_BYTES`."""
    records: list[MatchRecord] = []
    ranked: list[RankedMatch] = []
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
        ranked += part.ranked
        cut, damaged = cut + part.cut, damaged + part.damaged
    return Results(records, cut, damaged, 0, unreadable, ranked)


def parse(data: bytes) -> Results:
    """Read the lines of one file."""
    lines = data.split(b"\n")
    bodies = [line[9:] for line in lines if _is_whole(line)]
    is_cut = bool(lines[-1]) and not _is_whole(lines[-1])
    damaged = sum(map(bool, lines)) - len(bodies) - is_cut
    several = [body for body in bodies if body.startswith(b"[[")]
    records, strange = _decoded([body for body in bodies if not body.startswith(b"[[")] if several else bodies, _PAIRS)
    ranked, strange_ranked = _decoded(several, _RANKED)
    whole = [match for match in ranked if len(match.players) == len(match.score) == len(match.forfeit)]
    damaged += strange + strange_ranked + len(ranked) - len(whole)
    return Results(records, int(is_cut), damaged, ranked=whole)


def _is_whole(line: bytes) -> bool:
    return 9 < len(line) <= LINE_BYTES and line[:9] == b"%08x " % crc32(line[9:])


def _decoded(bodies: Sequence[bytes], decoder: msgspec.json.Decoder[list[Content]]) -> tuple[list[Content], int]:
    """Decode all lines at once, which is several times faster than one by one. If one cannot be decoded (with a valid
    checksum, but not from a writer), decode them one by one. Returns the records and the number of other lines."""
    try:
        return decoder.decode(b"[" + b",".join(bodies) + b"]"), 0
    except (msgspec.MsgspecError, ValueError, RecursionError):
        records: list[Content] = []
        strange = 0
        for body in bodies:
            try:
                records += decoder.decode(b"[" + body + b"]")
            except (msgspec.MsgspecError, ValueError, RecursionError):
                strange += 1
        return records, strange


def _files(league: Path) -> list[Path]:
    try:
        return sorted((league / FOLDER).glob(f"*{SUFFIX}"))
    except OSError as error:
        raise LeagueError(f"{league / FOLDER} cannot be read: {reason(error)}") from error
