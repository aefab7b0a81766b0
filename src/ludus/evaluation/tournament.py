"""Plays matches between the members of a league. Every result is in the league's log before the next one is counted.

A tournament is a sequence of rounds. A round is one list of matches on one fleet, with as many policies as members;
after each round the ratings decide who plays in the next. Stopping between or within rounds loses no finished match.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.errors import EvaluationError, LudusError
from ludus.evaluation import playing
from ludus.evaluation.best_matches import BestMatches
from ludus.evaluation.guarded import GuardedPolicy
from ludus.evaluation.recording import Recorder
from ludus.evaluation.value_swings import ValueSwings
from ludus.fleet.fleet import HostFleet
from ludus.games import hooks
from ludus.games.registry import Game
from ludus.league.pairings import Encounter
from ludus.league.results import MatchRecord, RankedMatch, ResultsWriter
from ludus.metrics.core import Metrics
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, Policy

Load = Callable[[str, GameSpec], Policy]  # (name of a member, spec of the hosts) -> its policy; may raise LudusError
log = logging.getLogger(__name__)


class TournamentStoppedError(Exception):
    """Ends a tournament because the user wants it to end."""


@dataclass(frozen=True, slots=True)
class Arenas:
    """The hosts and settings of a tournament."""

    game: Game
    options: msgspec.Struct
    teams: tuple[int, ...]  # the team of each seat
    log_dir: Path
    fleet: FleetConfig = field(default_factory=FleetConfig)
    hosts: int | None = None
    usable_cores: int | None = None
    deadline_s: float = 3600.0  # of a round


@dataclass(slots=True)
class TournamentTotals:
    """The progress of a tournament."""

    matches: int = 0  # results in the log
    rounds: int = 0
    voided: int = 0  # matches lost with their host and played again
    dropped: int = 0  # matches without a result, because a member had crashed before they began
    forfeits: Counter[str] = field(default_factory=Counter)  # by member
    failures: dict[str, str] = field(default_factory=dict)  # why members do not play (any more)
    records: list[MatchRecord] = field(default_factory=list)  # of matches of two teams
    ranked: list[RankedMatch] = field(default_factory=list)  # of matches of more teams
    # rewards of the first and of the second side in the match of each record, as means over their seats
    rewards: list[tuple[float, float]] = field(default_factory=list)

    def add(self, record: MatchRecord | RankedMatch, forfeited: set[str]) -> None:
        """Count a result that is in the log."""
        self.matches += 1
        self.forfeits.update(forfeited)
        if isinstance(record, MatchRecord):
            self.records.append(record)
        else:
            self.ranked.append(record)

    def scores(self) -> Iterator[tuple[str, float]]:
        """Yield each member of each match with its score."""
        for record in self.records:
            yield from ((record.first, record.score), (record.second, 1 - record.score))
        for match in self.ranked:
            yield from zip(match.players, match.score, strict=True)


class Tournament:
    """Plays rounds of encounters. Members are loaded when they first play, and stay loaded."""

    def __init__(
        self,
        arenas: Arenas,
        load: Load,
        writer: ResultsWriter,
        *,
        seed: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int, str], None] = lambda ended, scheduled, pair: None,
        best: BestMatches | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """`seed` draws the seeds of the matches; None: a new list each time, so that no match is played twice.
        `progress` receives finished and scheduled matches of the round, and who played the last one."""
        self.played = TournamentTotals()
        self._arenas, self._load, self._writer = arenas, load, writer
        self._generator = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
        self._stopped, self._progress, self._best = stopped, progress, best
        self._metrics = metrics or Metrics("actor")
        self._policies: dict[str, GuardedPolicy] = {}

    def play(self, encounters: Sequence[Encounter]) -> int:
        """Play one round and return the number of results. Encounters of members that failed are left out.

        Raises TournamentStoppedError if `stopped` returns True; results so far are in the log. Raises LeagueError if
        the log cannot be written, FleetError if no host is left, and EvaluationError if the hosts give up matches.
        """
        before = self.played.matches
        encounters = [each for each in encounters if not self._failed(each)]
        if not encounters:
            return 0
        arenas = self._arenas
        seating = PairSeating.of(encounters, arenas.teams, self._generator)
        with HostFleet(
            arenas.game.command(arenas.options),
            arenas.fleet,
            options=msgspec.to_builtins(arenas.options),
            seed=int(self._generator.integers(2**53)),
            log_dir=arenas.log_dir,
            hosts=arenas.hosts,
            schedule=seating.matches(),
            keep_log=self._best is not None,
            usable_cores=arenas.usable_cores,
        ) as fleet:
            self._metrics.begin()
            policies = self._loaded(seating.players, fleet.spec)
            tally = PairTally(seating, policies, self._writer, self.played)
            recorder = self._recorder(seating, tally, policies, fleet.spec.schema)
            try:
                playing.play_all(
                    fleet,
                    seating,
                    policies,
                    tally,
                    deadline_s=arenas.deadline_s,
                    after=lambda ending: self._progress(tally.ended, len(seating), seating.title(ending.match)),
                    tick=self._tick,
                    recorder=recorder,
                    metrics=self._metrics,
                )
            finally:
                self.played.rounds += 1
                self.played.failures.update((each.name, each.crash) for each in policies.values() if each.crash)
                for policy in policies.values():
                    policy.forfeits.clear()
                    policy.skipped.clear()
        return self.played.matches - before

    def _tick(self) -> None:
        if self._stopped():
            raise TournamentStoppedError

    def _failed(self, encounter: Encounter) -> bool:
        return bool(set(encounter.players) & self.played.failures.keys())

    def _loaded(self, names: Sequence[str], spec: GameSpec) -> dict[str, GuardedPolicy]:
        """Return the policies of members. One that cannot be loaded plays no match: its matches are dropped."""
        for name in names:
            if name not in self._policies:
                try:
                    self._policies[name] = GuardedPolicy(name, self._load(name, spec))
                except (LudusError, OSError) as error:
                    self._policies[name] = GuardedPolicy(name, _MissingPolicy())
                    self._policies[name].crash = str(error)
                    log.warning("%s does not play: %s", name, error)
        return {name: self._policies[name] for name in names}

    def _recorder(
        self, seating: PairSeating, tally: PairTally, policies: Mapping[str, GuardedPolicy], schema: int
    ) -> Recorder | None:
        if self._best is None:
            return None
        best, game = self._best, self._arenas.game
        options = msgspec.to_builtins(self._arenas.options)
        swings = ValueSwings(len(seating), len(seating.teams))
        for policy in policies.values():
            policy.observe = swings.observe
        swing = 0.0

        def worth(ending: Ending) -> bool:
            nonlocal swing
            record, swing = tally.latest, swings.of(ending)
            return record is not None and best.worth(record, float(ending.facts.get("turns", 0.0)), swing)

        return Recorder(
            best.folder,
            None,
            seats=len(seating.teams),
            game=game.name,
            schema=schema,
            options=game.saved_options(options),
            policies=seating.names,
            stable_log=hooks.stable_log_of(game),
            worth=worth,
            prefix=f"{secrets.token_hex(4)}-",
            value_swing=lambda ending: swing,
        )


class _MissingPolicy:
    """Stands in for a member that cannot be loaded. It is never asked."""

    def act(self, arrivals: Arrivals) -> Choices:
        raise AssertionError("a missing member was asked for an action")


@dataclass(frozen=True, slots=True)
class PairSeating:
    """Matches between members of T teams. Each T matches in a row have the same seed, and every member plays each team
    in one of them: matches 2k and 2k + 1 of two teams are a pair with swapped sides."""

    players: tuple[str, ...]
    tables: NDArray[np.int64]  # [seeds, T] places in `players`, in the first match of each seed
    seeds: NDArray[np.int64]
    teams: tuple[int, ...]  # the team of each seat, from 0 to T - 1

    @classmethod
    def of(cls, encounters: Sequence[Encounter], teams: Sequence[int], generator: np.random.Generator) -> PairSeating:
        """List the matches of encounters, the seeds of different encounters in turn."""
        players = tuple(sorted({name for each in encounters for name in each.players}))
        tables = [
            (at, [players.index(name) for name in each.players]) for each in encounters for at in range(each.pairs)
        ]
        tables.sort(key=lambda table: table[0])
        places = np.array([table for _, table in tables], np.int64)
        return cls(players, places, generator.integers(0, 2**53, len(tables)), tuple(teams))

    def __len__(self) -> int:
        return self.tables.size

    @property
    def sides(self) -> int:
        """Return the number of teams."""
        return int(self.tables.shape[1])

    def matches(self) -> list[tuple[int, int]]:
        """Return (number, seed) of every match."""
        return [(number, int(self.seeds[number // self.sides])) for number in range(len(self))]

    def player(self, row: NDArray[np.int32], match: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `players` of the policy of each row."""
        team = np.array(self.teams)[row % len(self.teams)]
        return np.asarray(self.tables[match // self.sides, (team + match) % self.sides])

    def members(self, number: int) -> tuple[str, ...]:
        """Return the member that plays each team of a match."""
        table, turn = self.tables[number // self.sides], number % self.sides
        return tuple(self.players[table[(team + turn) % self.sides]] for team in range(self.sides))

    def names(self, number: int) -> list[str]:
        """Return the member in each seat of a match."""
        members = self.members(number)
        return [members[team] for team in self.teams]

    def title(self, number: int) -> str:
        """Return who plays a match, for a progress bar."""
        return " - ".join(self.members(number))


class PairTally:
    """Writes the result of each match to the log of the league, and counts it."""

    def __init__(
        self,
        seating: PairSeating,
        policies: Mapping[str, GuardedPolicy],
        writer: ResultsWriter,
        played: TournamentTotals,
    ) -> None:
        self.latest: MatchRecord | RankedMatch | None = None  # of the match that ended last; None if it has no result
        self._seating, self._policies, self._writer, self._played = seating, policies, writer, played
        self._ended = np.zeros(len(seating), np.bool_)
        self._team = np.array(seating.teams)  # of each seat
        self._reward = np.zeros((len(seating), seating.sides))  # of each team so far

    @property
    def ended(self) -> int:
        """Return the number of finished matches."""
        return int(np.count_nonzero(self._ended))

    def choose(self, arrivals: Arrivals) -> None:
        """Add the rewards of these rows."""
        seat = arrivals.row % len(self._team)
        self._add_reward(arrivals.match, seat, arrivals.reward)

    def _add_reward(
        self, match: NDArray[np.int64], seat: NDArray[np.int32] | NDArray[np.int64], reward: NDArray[np.float32]
    ) -> None:
        team = self._team[seat]
        np.add.at(self._reward, (match, team), reward / np.bincount(self._team)[team])

    def end(self, ending: Ending) -> None:
        """Record a finished match. Raises LeagueError if it cannot be written."""
        number, self.latest = ending.match, None
        members = self._seating.members(number)
        guards = [self._policies[name] for name in members]
        skipped = any(number in guard.skipped for guard in guards)
        forfeits = [guard.forfeits.get(number, "") for guard in guards]
        for guard in guards:
            guard.forget(number)
        if ending.void:
            self._played.voided += 1
            self._reward[number] = 0.0
            return
        if self._ended[number]:
            raise EvaluationError(f"match {number} ended twice; the fleet did not keep to its schedule")
        self._ended[number] = True
        if skipped or all(forfeits):
            self._played.dropped += 1
            return
        score = _after_forfeits(self._scores(ending), forfeits)
        if len(members) == 2:
            reason = forfeits[0] or forfeits[1]
            record: MatchRecord | RankedMatch = MatchRecord(*members, ending.seed, score[0], reason, ending.truncated)
        else:
            record = RankedMatch(members, ending.seed, tuple(score), tuple(forfeits), ending.truncated)
        self._writer.add(record)
        self._played.add(record, {name for name, why in zip(members, forfeits, strict=True) if why})
        everyone = np.arange(len(self._team))
        self._add_reward(np.full(len(everyone), number), everyone, ending.reward)
        if len(members) == 2:
            self._played.rewards.append((float(self._reward[number, 0]), float(self._reward[number, 1])))
        self.latest = None if any(forfeits) else record

    def _scores(self, ending: Ending) -> list[float]:
        """Return the score of each team, as the mean over its seats."""
        seats = np.bincount(self._team)
        mean = np.bincount(self._team, ending.score) / seats
        score: list[float] = np.clip(mean, 0.0, 1.0).tolist()
        return score


def _after_forfeits(score: list[float], forfeits: Sequence[str]) -> list[float]:
    """Return the scores of the teams after some forfeited: they come last, and the order of the others stays. Of two
    teams, the other one has won."""
    if not any(forfeits):
        return score
    others = 1.0 if len(score) == 2 else 0.5
    scale = 0.0 if len(score) == 2 else 0.5
    return [0.0 if why else others + scale * each for each, why in zip(score, forfeits, strict=True)]
