"""Chooses the matches of a league that are kept as replays: upsets, matches between the highest rated, and those in
which the players' own estimates swung most."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Literal, get_args

from ludus import files
from ludus.errors import ReplayError
from ludus.evaluation import recording
from ludus.evaluation.recording import SavedMatch
from ludus.league.ratings import SCALE, Ratings
from ludus.league.results import MatchRecord, RankedMatch

KEPT = 6  # matches of each kind
UPSET_SHARE = 0.5  # a win is an upset if its probability was below this share of what it is among equals
FOLDER = "replays"
Kind = Literal["upset", "high rating", "swing"]
KINDS: tuple[Kind, ...] = get_args(Kind)
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
        self._heaps: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
        for best in list_best(league, ratings):
            heapq.heappush(self._heaps[best.kind], best.interest)

    def worth(self, record: MatchRecord | RankedMatch, turns: float, swing: float) -> bool:
        """Return whether a match is among the best so far. `swing` is that of `ValueSwings`."""
        if isinstance(record, MatchRecord):
            scores = {record.first: record.score, record.second: 1 - record.score}
        else:
            scores = scores_by_member(record.players, record.score)
        is_worth = False
        for kind, interest in interests(self._ratings, scores, turns, swing):
            heap = self._heaps[kind]
            if len(heap) < KEPT:
                heapq.heappush(heap, interest)
                is_worth = True
            elif interest > heap[0]:
                heapq.heapreplace(heap, interest)
                is_worth = True
        return is_worth


def interests(
    ratings: Ratings, scores: Mapping[str, float], turns: float, swing: float
) -> Iterator[tuple[Kind, float]]:
    """Yield for which reasons a match is worth a look, and how much: more is better within a kind. `scores` are those
    of its members. A match without a single winner is not worth one."""
    winner = max(scores, key=lambda name: scores[name])
    if not set(scores) <= set(ratings.names) or list(scores.values()).count(scores[winner]) > 1:
        return
    elo = {name: float(ratings.elo[ratings.names.index(name)]) for name in scores}
    chance = 1 / sum(exp(min((other - elo[winner]) / SCALE, 700.0)) for other in elo.values())
    if chance * len(scores) < UPSET_SHARE:
        yield "upset", -chance
    yield "high rating", sum(elo.values()) / len(elo) + min(turns, 1000.0) / 100
    if swing > 0:
        yield "swing", swing


def scores_by_member(players: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    """Return the score of each member: of a member with several seats or teams, the highest one."""
    best: dict[str, float] = {}
    for name, score in zip(players, scores, strict=True):
        best[name] = max(score, best.get(name, 0.0))
    return best


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
        scores = scores_by_member(match.policies, match.score)
        candidates += [
            BestMatch(path, match, kind, interest)
            for kind, interest in interests(ratings, scores, match.turns, match.value_swing)
        ]
    best: list[BestMatch] = []
    for kind in KINDS:
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
