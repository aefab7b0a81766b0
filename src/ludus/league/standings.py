"""The table of a league, computed from its members and results. Pure.

It is made again whenever it is shown: the results log is the only thing that is kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ludus.league.equilibrium import Cycles, alpha_rank, cycles, nash_average
from ludus.league.payoff import Payoff
from ludus.league.ratings import ANCHOR_ELO, Ratings, rate_by_side
from ludus.league.results import Results

SIDES_DIFFER = 2.0  # standard errors of the first side's advantage from which ratings are shown by side
MOST_NASH = 200  # members; the mixtures of larger leagues are not computed


@dataclass(frozen=True, slots=True)
class Standing:
    """One member's line of the table. Ratings are in Elo points."""

    rank: int
    name: str
    elo: float
    low: float  # 95% interval of the rating
    high: float
    matches: int
    share: float  # score per match, a tie is half; with more than two teams, of the opponents it came before
    better_than_next: float  # probability of being stronger than the next member in the table; nan for the last
    nash: float  # weight in the Nash average
    alpha_rank: float  # weight in alpha-rank
    worst_opponent: str  # the member it scores least against; empty if it has played nobody
    worst_share: float  # its score against that member, as a posterior mean
    forfeits: int
    first_elo: float  # rating on the first side; nan if sides do not differ
    second_elo: float


@dataclass(frozen=True, slots=True)
class Standings:
    """The whole table, with what it was computed from."""

    lines: tuple[Standing, ...]  # by rating, the highest first
    payoff: Payoff
    ratings: Ratings
    shares: NDArray[np.float64]  # [n, n] posterior mean of the share that the row's member wins against the column's
    cycles: Cycles
    results: Results

    @property
    def notes(self) -> list[str]:
        """Return sentences that a reader of the table needs."""
        ratings, notes = self.ratings, []
        if ratings.anchor is None:
            notes.append(f"No anchor has played: the mean rating is {ANCHOR_ELO:.0f}. Do not compare it elsewhere.")
        else:
            notes.append(f"{ratings.anchor} is rated {ANCHOR_ELO:.0f} by definition; 95% intervals are relative to it.")
        if self.sides_differ:
            notes.append(
                f"The first side has an advantage of {ratings.advantage:+.0f} Elo (standard error "
                f"{ratings.advantage_error:.0f})."
            )
        for team, (advantage, error) in enumerate(zip(ratings.team_advantages, ratings.team_errors, strict=True), 1):
            if abs(advantage) > SIDES_DIFFER * error:
                notes.append(f"Team {team} has an advantage of {advantage:+.0f} Elo (standard error {error:.0f}).")
        if self.cycles.warning:
            notes.append(f"Warning: {self.cycles.warning}.")
        if self.results.trouble:
            notes.append(f"Warning: {self.results.trouble}.")
        return notes

    @property
    def matches(self) -> int:
        """Return the number of matches that are rated."""
        return len(self.results.records) + len(self.results.ranked)

    @property
    def sides_differ(self) -> bool:
        """Return whether one side has an advantage, so that ratings by side are worth a look."""
        return abs(self.ratings.advantage) > SIDES_DIFFER * self.ratings.advantage_error

    def markdown(self, title: str) -> str:
        """Return the table as a Markdown page."""
        heads = ["", "member", "Elo", "95% interval", "matches", "score", "better than next", "Nash", "alpha-rank"]
        heads += ["worst opponent", "forfeits", *(["first side", "second side"] if self.sides_differ else [])]
        rows = ["| " + " | ".join(heads) + " |", "| ---: | --- |" + " ---: |" * (len(heads) - 2)]
        for line in self.lines:
            cells = [str(line.rank), _escaped(line.name), f"{line.elo:.0f}", f"{line.low:.0f} to {line.high:.0f}"]
            cells += [f"{line.matches:,}", _percent(line.share), _percent(line.better_than_next), _percent(line.nash)]
            cells += [_percent(line.alpha_rank), _worst(line), str(line.forfeits)]
            if self.sides_differ:
                cells += [f"{line.first_elo:.0f}", f"{line.second_elo:.0f}"]
            rows.append("| " + " | ".join(cells) + " |")
        notes = [part for note in self.notes for part in (_escaped(note), "")]
        return "\n".join([f"# {_escaped(title)}", "", *rows, "", *notes])

    def csv(self) -> str:
        """Return the table as CSV, with a header."""
        page = io.StringIO()
        writer = csv.writer(page, lineterminator="\n")
        names = list(Standing.__dataclass_fields__)
        writer.writerow(names)
        writer.writerows([[getattr(line, name) for name in names] for line in self.lines])
        return page.getvalue()


def standings(names: Collection[str], results: Results, anchor: str | None = None) -> Standings:
    """Compute the table of these members. Matches with others are left out and counted."""
    results = results.of(set(names))
    payoff = results.payoff(set(names))
    ratings = results.ratings(set(names), anchor)
    shares = payoff.win_shares(ratings.expected())
    n = len(payoff.names)
    nash, alpha = (
        (nash_average(shares), alpha_rank(shares)) if 0 < n <= MOST_NASH else (np.full(n, np.nan), np.full(n, np.nan))
    )
    unknown = np.full(n, np.nan)
    first, second = (unknown, unknown) if results.ranked else rate_by_side(payoff, ratings.anchor)
    meetings, scores, forfeits = payoff.meetings, payoff.scores, results.forfeits
    matches = results.rankings(set(names)).matches if results.ranked else meetings.sum(1)
    order = sorted(range(n), key=lambda place: (-ratings.elo[place], payoff.names[place]))
    lines = []
    for rank, place in enumerate(order):
        low, high = ratings.interval(place)
        comparisons = int(meetings[place].sum())
        opponents = np.flatnonzero(meetings[place])
        worst = int(opponents[shares[place, opponents].argmin()]) if len(opponents) else None
        lines.append(
            Standing(
                rank + 1,
                payoff.names[place],
                float(ratings.elo[place]),
                low,
                high,
                int(matches[place]),
                float(scores[place].sum()) / comparisons if comparisons else np.nan,
                ratings.superiority(place, order[rank + 1]) if rank + 1 < n else np.nan,
                float(nash[place]),
                float(alpha[place]),
                "" if worst is None else payoff.names[worst],
                np.nan if worst is None else float(shares[place, worst]),
                forfeits[payoff.names[place]],
                float(first[place]),
                float(second[place]),
            )
        )
    return Standings(tuple(lines), payoff, ratings, shares, cycles(payoff, ratings), results)


def _worst(line: Standing) -> str:
    return f"{_escaped(line.worst_opponent)} ({_percent(line.worst_share)})" if line.worst_opponent else "-"


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f}%"


def _escaped(text: str) -> str:
    """Escape the characters that have a meaning in a Markdown table."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
