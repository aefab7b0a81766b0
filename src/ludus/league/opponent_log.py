"""opponents.jsonl of a run: whom the learner met since the previous line, how often, and how it did."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ludus.league.matchmaking import SELF_PLAY
from ludus.league.records import NONE, Records

OPPONENTS = "opponents.jsonl"
TAIL_BYTES = 1 << 20  # of the file's end that `latest` reads
MOST = 100  # opponents of a line; those met most
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
log = logging.getLogger(__name__)


class MetOpponent(Struct, frozen=True):
    """One opponent. Its rating is relative to the learner's, in Elo points."""

    name: str
    share: Share  # of the training matches that began since the previous line
    matches: int  # all that have ended
    win_rate: Share  # the learner's, as a posterior mean; older matches count less
    elo: float
    elo_error: float  # its standard error
    rating: float | None = None  # in its league


class OpponentLine(Struct, frozen=True):
    """One line of the file."""

    updates: int
    training_s: float
    self_play: Share
    opponents: tuple[MetOpponent, ...]

    @property
    def elo(self) -> float | None:
        """Return the mean rating of the chosen opponents relative to the learner, or None without any."""
        total = sum(each.share for each in self.opponents)
        return sum(each.share * each.elo for each in self.opponents) / total if total else None


def line_of(
    version: int, training_s: float, records: Records, starts: Mapping[str, int], elo: Mapping[str, float]
) -> OpponentLine:
    """Return a line. By opponent, `starts` has the matches that began since the previous line, and `elo` the ratings of
    a league."""
    total = max(sum(starts.values()), 1)
    opponents = [
        MetOpponent(
            name, starts.get(name, 0) / total, record.matches, record.win_rate, *record.elo, rating=elo.get(name)
        )
        for name, record in ((each, records.get(each, NONE)) for each in {*records, *starts} - {SELF_PLAY})
    ]
    opponents.sort(key=lambda each: (-each.share, each.name))
    return OpponentLine(version, training_s, starts.get(SELF_PLAY, 0) / total, tuple(opponents[:MOST]))


def latest(path: Path) -> OpponentLine | None:
    """Return the last whole line of the file, or None without one."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            return msgspec.json.decode(line, type=OpponentLine)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # cut short
    return None
