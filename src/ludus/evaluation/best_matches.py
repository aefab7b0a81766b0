"""Chooses the matches of a league that are kept as replays: upsets, and matches between the highest rated."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ludus import files
from ludus.errors import ReplayError
from ludus.evaluation import recording
from ludus.evaluation.recording import SavedMatch
from ludus.league.ratings import Ratings
from ludus.league.results import MatchRecord

KEPT = 6  # matches of each kind
UPSET_SHARE = 0.25  # a win is an upset if the winner was expected to score less than this
FOLDER = "replays"
Kind = Literal["upset", "high rating"]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BestMatch:
    """A saved match and why it was kept."""

    path: Path
    match: SavedMatch
    kind: Kind
    interest: float


class BestMatches:
    """Says which matches of a tournament to save, and removes those that better ones replace. `folder` holds them."""

    def __init__(self, league: Path, ratings: Ratings) -> None:
        self.folder = league / FOLDER
        self._ratings = ratings
        self._heaps: dict[Kind, list[float]] = {"upset": [], "high rating": []}
        for best in list_best(league, ratings):
            heapq.heappush(self._heaps[best.kind], best.interest)

    def worth(self, record: MatchRecord, turns: float) -> bool:
        """Return whether a match is among the best so far."""
        is_worth = False
        for kind, interest in interests(self._ratings, record.first, record.second, record.score, turns):
            heap = self._heaps[kind]
            if len(heap) < KEPT:
                heapq.heappush(heap, interest)
                is_worth = True
            elif interest > heap[0]:
                heapq.heapreplace(heap, interest)
                is_worth = True
        return is_worth


def interests(ratings: Ratings, first: str, second: str, score: float, turns: float) -> Iterator[tuple[Kind, float]]:
    """Yield for which reasons a match is worth a look, and how much: more is better within a kind."""
    if first not in ratings.names or second not in ratings.names or score == 0.5:
        return
    one, other = ratings.names.index(first), ratings.names.index(second)
    winner, loser = (one, other) if score > 0.5 else (other, one)
    expected = float(ratings.expected()[winner, loser])
    if expected < UPSET_SHARE:
        yield "upset", -expected
    yield "high rating", float(ratings.elo[one] + ratings.elo[other]) / 2 + min(turns, 1000.0) / 100


def list_best(league: Path, ratings: Ratings, *, prune: bool = False) -> list[BestMatch]:
    """Return the best saved matches of a league, the best of each kind first. With `prune`, remove the others."""
    candidates: list[BestMatch] = []
    everything = sorted((league / FOLDER).glob(f"*{recording.SUFFIX}"))
    for path in everything:
        try:
            match = recording.read(path)
        except ReplayError as error:
            log.warning("%s", error)
            continue
        first = match.policies[0]
        second = next((name for name in match.policies if name != first), first)
        candidates += [
            BestMatch(path, match, kind, interest)
            for kind, interest in interests(ratings, first, second, match.score[0], match.turns)
        ]
    best: list[BestMatch] = []
    for kind in ("upset", "high rating"):
        ranked = sorted((each for each in candidates if each.kind == kind), key=lambda each: -each.interest)
        best += [each for each in ranked if each.path not in {other.path for other in best}][:KEPT]
    if prune:
        for path in {*everything} - {each.path for each in best}:
            _remove(path)
            _remove(page_path(path))
    return best


def page_path(path: Path) -> Path:
    """Return where the page of a saved match is, if it has been replayed."""
    return path.with_name(path.name.removesuffix(recording.SUFFIX) + ".html")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s cannot be removed: %s", path, files.reason(error))
