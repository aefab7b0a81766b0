"""Decides which members of a league play each other next, and how often. Pure.

The unit is a pair: two matches on one seed with sides swapped. With more than two teams, `teams` members sit at a
table, and the unit is as many matches on one seed, in which each of them plays every team once.
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
    """Members that play each other, and on how many seeds. On each seed, every member plays every side once: with two
    members a pair of matches."""

    first: str
    second: str
    pairs: int
    others: tuple[str, ...] = ()  # with more than two teams

    @property
    def players(self) -> tuple[str, ...]:
        """Return one member for each team."""
        return (self.first, self.second, *self.others)


def round_robin(names: Sequence[str], pairs: int, teams: int = 2) -> list[Encounter]:
    """Return encounters of all members with all others."""
    return seated(dict.fromkeys(combinations(names, 2), pairs), names, teams)


def gauntlet(challengers: Sequence[str], names: Sequence[str], pairs: int, teams: int = 2) -> list[Encounter]:
    """Return encounters of each challenger with all others that are no challengers."""
    others = [name for name in names if name not in challengers]
    return [
        encounter
        for one in challengers
        for encounter in seated({(one, other): pairs for other in others}, (one, *others), teams)
    ]


def seated(needs: Mapping[tuple[str, str], int], names: Sequence[str], teams: int) -> list[Encounter]:
    """Return encounters in which the members of each couple in `needs` meet on that many seeds, or more. Places at a
    table that nobody needs are filled with other members of `names`; if these are too few, some play several teams."""
    if teams == 2:
        return [Encounter(*couple, pairs) for couple, pairs in needs.items() if pairs > 0]
    if len(names) < teams:
        most = max(needs.values(), default=0)
        turns = [[names[(turn + place) % len(names)] for place in range(teams)] for turn in range(len(names))]
        return [_table(table, -(-most // len(names))) for table in turns] if most > 0 else []
    missing = {frozenset(couple): pairs for couple, pairs in needs.items()}
    seats = dict.fromkeys(names, 0)
    tables = []
    for couple in needs:
        pairs = missing[frozenset(couple)]
        if pairs <= 0:
            continue
        table = list(couple)
        while len(table) < teams:
            meetings = {
                name: sum(max(missing.get(frozenset((name, other)), 0), 0) for other in table) for name in names
            }
            table.append(
                max((name for name in names if name not in table), key=lambda name: (meetings[name], -seats[name]))
            )
        for one, other in combinations(table, 2):
            missing[frozenset((one, other))] = missing.get(frozenset((one, other)), 0) - pairs
        for name in table:
            seats[name] += pairs
        tables.append(_table(table, pairs))
    return tables


def _table(members: Sequence[str], pairs: int) -> Encounter:
    return Encounter(members[0], members[1], pairs, tuple(members[2:]))


def swiss(
    names: Sequence[str], scores: Mapping[str, float], meetings: set[frozenset[str]], pairs: int, teams: int = 2
) -> list[Encounter]:
    """Return one round of a Swiss tournament: members of similar scores that have not met in it. Those that are too
    many pause: the last ones of those that have paused least. `names` breaks ties, so begin with the highest rated.
    `meetings` has the couples that have met."""
    waiting = sorted(names, key=lambda name: -scores.get(name, 0.0))
    if len(waiting) < teams:
        return seated({(waiting[0], waiting[1]): pairs}, waiting, teams) if len(waiting) > 1 else []
    rounds = {name: sum(name in each for each in meetings) for name in waiting}
    for _ in range(len(waiting) % teams):
        most = max(rounds[name] for name in waiting)
        waiting.remove([name for name in waiting if rounds[name] == most][-1])
    encounters = []
    while waiting:
        table = [waiting.pop(0)]
        while len(table) < teams:
            fresh = [name for name in waiting if not any(frozenset((name, other)) in meetings for other in table)]
            table.append((fresh or waiting)[0])
            waiting.remove(table[-1])
        encounters.append(_table(table, pairs))
    return encounters


def swiss_rounds(members: int) -> int:
    """Return the number of rounds that separate the first of a Swiss tournament from the rest, and two more."""
    return max(1, ceil(sqrt(members)) if members < 4 else members.bit_length() + 1)


def introductions(names: Sequence[str], meetings: Mapping[frozenset[str], int], teams: int = 2) -> list[Encounter]:
    """Return encounters after which each member has met enough others to be rated: all of them, or in a large league
    those at distances 1, 2, 4 ... in the list. `meetings` is the number of matches of each two members so far."""
    n = len(names)
    if n * (n - 1) * FIRST_PAIRS <= FIRST_MATCHES:
        couples: Iterable[tuple[str, str]] = combinations(names, 2)
    else:
        distances = [1 << bit for bit in range((n // 2).bit_length())]
        couples = ((names[at], names[(at + distance) % n]) for at in range(n) for distance in distances)
    missing = {couple: FIRST_PAIRS - meetings.get(frozenset(couple), 0) // teams for couple in couples}
    return seated({couple: pairs for couple, pairs in missing.items() if pairs > 0}, names, teams)


def unsettled(ratings: Ratings, names: Sequence[str], limit: int = ROUND_PAIRS, teams: int = 2) -> list[Encounter]:
    """Return encounters of neighbours in the ranking whose order is not known yet; an empty list if all ranks are
    settled.

    The order is known if one is better with a probability of `SURE`, or if they surely differ by less than `EQUAL_ELO`.
    Pairs go to neighbours in proportion to how many they still need, at most `limit` in all. With more than two teams,
    those next to them in the ranking play with them.
    """
    places = sorted((ratings.names.index(name) for name in names), key=lambda place: -ratings.elo[place])
    needs: dict[tuple[int, int], int] = {}
    for one, other in pairwise(places):
        needed = _pairs_needed(ratings, one, other)
        if needed:
            needs[one, other] = needed
    total = sum(needs.values())
    share = min(1.0, limit / total) if total else 0.0
    ranked = [ratings.names[place] for place in places]
    if len(ranked) < teams:
        return seated({(ranked[0], ranked[1]): max(1, round(total * share))} if needs else {}, ranked, teams)
    encounters = []
    for (one, _), needed in needs.items():
        begin = min(max(places.index(one) - (teams - 2) // 2, 0), len(ranked) - teams)
        encounters.append(_table(ranked[begin : begin + teams], max(1, round(needed * share))))
    return encounters


def _pairs_needed(ratings: Ratings, one: int, other: int) -> int:
    """Return about how many more pairs two members must play until their order is known, or 0 if it is."""
    difference = abs(float(ratings.elo[one] - ratings.elo[other]))
    covariance = ratings.covariance
    variance = float(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])
    enough = max((difference / Z_SURE) ** 2, (max(EQUAL_ELO - difference, 0.0) / Z_95) ** 2, 1e-9)
    if variance <= enough:
        return 0
    return max(LEAST_PAIRS, ceil((1 / enough - 1 / variance) * MATCH_VARIANCE * ratings.dispersion / 2))
