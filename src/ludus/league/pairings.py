"""Decides which members of a league play each other next, and how often. Pure.

The unit is a pair: two matches on one seed with sides swapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import ceil, sqrt

from ludus.league.ratings import SCALE, Ratings
from ludus.metrics.intervals import Z_95

SURE = 0.95  # probability from which the order of two members counts as known
EQUAL_ELO = 15.0  # members whose difference is surely below this count as equal
FIRST_PAIRS = 2  # of each two members, before ratings decide who plays
FIRST_MATCHES = 4_000  # most matches of a first round in which all members meet all others
LEAST_PAIRS = 25  # of an encounter that decides a rank; fewer are not worth starting hosts for
ROUND_PAIRS = 200  # most pairs of matches of a round, after which ratings are made again
MATCH_VARIANCE = 4 * SCALE**2  # of the difference in Elo of two equals after one match

Z_SURE = 1.6448536269514722  # one-sided


@dataclass(frozen=True, slots=True)
class Encounter:
    """Two members, and how many pairs of matches they play."""

    first: str
    second: str
    pairs: int


def round_robin(names: Sequence[str], pairs: int) -> list[Encounter]:
    """Return encounters of all members with all others."""
    return [Encounter(first, second, pairs) for first, second in combinations(names, 2)]


def gauntlet(challengers: Sequence[str], names: Sequence[str], pairs: int) -> list[Encounter]:
    """Return encounters of each challenger with all others that are no challengers."""
    return [Encounter(one, other, pairs) for one in challengers for other in names if other not in challengers]


def swiss(
    names: Sequence[str], scores: Mapping[str, float], meetings: set[frozenset[str]], pairs: int
) -> list[Encounter]:
    """Return one round of a Swiss tournament: members of similar scores that have not met in it. With an odd number of
    members one pauses: the last of those that have paused least. `names` breaks ties, so begin with the highest rated.
    `meetings` has the members that have met."""
    waiting = sorted(names, key=lambda name: -scores.get(name, 0.0))
    if len(waiting) % 2:
        rounds = {name: sum(name in each for each in meetings) for name in waiting}
        most = max(rounds.values())
        waiting.remove([name for name in waiting if rounds[name] == most][-1])
    encounters = []
    while len(waiting) > 1:
        first = waiting.pop(0)
        fresh = [name for name in waiting if frozenset((first, name)) not in meetings]
        second = (fresh or waiting)[0]
        waiting.remove(second)
        encounters.append(Encounter(first, second, pairs))
    return encounters


def swiss_rounds(members: int) -> int:
    """Return the number of rounds that separate the first of a Swiss tournament from the rest, and two more."""
    return max(1, ceil(sqrt(members)) if members < 4 else members.bit_length() + 1)


def introductions(names: Sequence[str], meetings: Mapping[frozenset[str], int]) -> list[Encounter]:
    """Return encounters after which each member has met enough others to be rated: all of them, or in a large league
    those at distances 1, 2, 4 ... in the list. `meetings` is the number of matches of each two members so far."""
    n = len(names)
    if n * (n - 1) * FIRST_PAIRS <= FIRST_MATCHES:
        couples: Iterable[tuple[str, str]] = combinations(names, 2)
    else:
        distances = [1 << bit for bit in range((n // 2).bit_length())]
        couples = ((names[at], names[(at + distance) % n]) for at in range(n) for distance in distances)
    missing = {couple: FIRST_PAIRS - meetings.get(frozenset(couple), 0) // 2 for couple in couples}
    return [Encounter(*couple, pairs) for couple, pairs in missing.items() if pairs > 0]


def unsettled(ratings: Ratings, names: Sequence[str], limit: int = ROUND_PAIRS) -> list[Encounter]:
    """Return encounters of neighbours in the ranking whose order is not known yet; an empty list if all ranks are
    settled.

    The order is known if one is better with a probability of `SURE`, or if they surely differ by less than `EQUAL_ELO`.
    Pairs go to neighbours in proportion to how many they still need, at most `limit` in all.
    """
    places = sorted((ratings.names.index(name) for name in names), key=lambda place: -ratings.elo[place])
    needs: dict[tuple[int, int], int] = {}
    for one, other in pairwise(places):
        needed = _pairs_needed(ratings, one, other)
        if needed:
            needs[one, other] = needed
    total = sum(needs.values())
    share = min(1.0, limit / total) if total else 0.0
    return [
        Encounter(ratings.names[one], ratings.names[other], max(1, round(needed * share)))
        for (one, other), needed in needs.items()
    ]


def _pairs_needed(ratings: Ratings, one: int, other: int) -> int:
    """Return about how many more pairs two members must play until their order is known, or 0 if it is."""
    difference = abs(float(ratings.elo[one] - ratings.elo[other]))
    covariance = ratings.covariance
    variance = float(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])
    enough = max((difference / Z_SURE) ** 2, (max(EQUAL_ELO - difference, 0.0) / Z_95) ** 2, 1e-9)
    if variance <= enough:
        return 0
    return max(LEAST_PAIRS, ceil((1 / enough - 1 / variance) * MATCH_VARIANCE * ratings.dispersion / 2))
