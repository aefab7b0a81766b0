"""Plays matches between the members of a league. Every result is in the league's log before the next one is counted.

A tournament is a sequence of rounds. A round is one list of matches on one fleet, with as many policies as members;
after each round the ratings decide who plays in the next. Stopping between or within rounds loses no finished match.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from ludus.fleet.fleet import HostFleet
from ludus.games import hooks
from ludus.games.registry import Game
from ludus.league.pairings import Encounter
from ludus.league.results import MatchRecord, ResultsWriter
from ludus.metrics.core import Metrics
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Ending, Policy

Load = Callable[[str, GameSpec], Policy]  # (name of a member, spec of the hosts) -> its policy; may raise LudusError
log = logging.getLogger(__name__)


class TournamentStoppedError(Exception):
    """Ends a tournament because the user wants it to end."""


@dataclass(frozen=True, slots=True)
class Arenas:
    """What a tournament plays on."""

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
    """What a tournament has played so far."""

    matches: int = 0  # results in the log
    rounds: int = 0
    voided: int = 0  # matches lost with their host and played again
    dropped: int = 0  # matches without a result, because a member had crashed before they began
    forfeits: Counter[str] = field(default_factory=Counter)  # by member
    failures: dict[str, str] = field(default_factory=dict)  # why members do not play (any more)
    records: list[MatchRecord] = field(default_factory=list)
    # rewards of the first and of the second side in the match of each record, as means over their seats
    rewards: list[tuple[float, float]] = field(default_factory=list)


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
            recorder = self._recorder(seating, tally, fleet.spec.schema)
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
        return bool({encounter.first, encounter.second} & self.played.failures.keys())

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

    def _recorder(self, seating: PairSeating, tally: PairTally, schema: int) -> Recorder | None:
        if self._best is None:
            return None
        best, game = self._best, self._arenas.game
        options = msgspec.to_builtins(self._arenas.options)

        def worth(ending: Ending) -> bool:
            record = tally.latest
            return record is not None and best.worth(record, float(ending.facts.get("turns", 0.0)))

        return Recorder(
            best.folder,
            None,
            seats=len(seating.teams),
            game=game.name,
            schema=schema,
            options={name: value for name, value in options.items() if name not in game.local},
            policies=seating.names,
            stable_log=hooks.stable_log_of(game),
            worth=worth,
            prefix=f"{secrets.token_hex(4)}-",
        )


class _MissingPolicy:
    """Stands in for a member that cannot be loaded. It is never asked."""

    def act(self, arrivals: Arrivals) -> Choices:
        raise AssertionError("a missing member was asked for an action")


@dataclass(frozen=True, slots=True)
class PairSeating:
    """Pairs of matches between members. Match 2k and 2k + 1 have the same seed and swapped sides."""

    players: tuple[str, ...]
    couples: NDArray[np.int64]  # [pairs, 2] places of both members of a pair in `players`
    seeds: NDArray[np.int64]  # [pairs]
    teams: tuple[int, ...]  # the team of each seat

    @classmethod
    def of(cls, encounters: Sequence[Encounter], teams: Sequence[int], generator: np.random.Generator) -> PairSeating:
        """List the matches of encounters, the pairs of different encounters in turn."""
        players = tuple(sorted({name for each in encounters for name in (each.first, each.second)}))
        couples = [
            (at, players.index(each.first), players.index(each.second))
            for each in encounters
            for at in range(each.pairs)
        ]
        couples.sort(key=lambda couple: couple[0])
        both = np.array([couple[1:] for couple in couples], np.int64)
        return cls(players, both, generator.integers(0, 2**53, len(couples)), tuple(teams))

    def __len__(self) -> int:
        return 2 * len(self.seeds)

    def matches(self) -> list[tuple[int, int]]:
        """Return (number, seed) of every match."""
        return [(number, int(self.seeds[number // 2])) for number in range(len(self))]

    def player(self, row: NDArray[np.int32], match: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `players` of the policy of each row."""
        teams = np.array(self.teams)
        is_second = teams[row % len(teams)] != teams.min()
        place = (is_second ^ (match % 2 == 1)).astype(np.int64)
        return np.asarray(self.couples[match // 2, place])

    def sides(self, number: int) -> tuple[str, str]:
        """Return the members on the first and on the second side of a match."""
        one, other = (self.players[place] for place in self.couples[number // 2])
        return (other, one) if number % 2 else (one, other)

    def names(self, number: int) -> list[str]:
        """Return the member in each seat of a match."""
        first, second = self.sides(number)
        return [first if team == min(self.teams) else second for team in self.teams]

    def title(self, number: int) -> str:
        """Return who plays a match, for a progress bar."""
        return " - ".join(self.sides(number))


class PairTally:
    """Writes the result of each match to the log of the league, and counts it."""

    def __init__(
        self,
        seating: PairSeating,
        policies: Mapping[str, GuardedPolicy],
        writer: ResultsWriter,
        played: TournamentTotals,
    ) -> None:
        self.latest: MatchRecord | None = None  # of the match that ended last; None if it has no result
        self._seating, self._policies, self._writer, self._played = seating, policies, writer, played
        self._ended = np.zeros(len(seating), np.bool_)
        self._reward = np.zeros((len(seating), 2))  # of the first and of the second side so far
        teams = np.array(seating.teams)
        self._side = (teams != teams.min()).astype(np.int64)  # of each seat: 0 first, 1 second

    @property
    def ended(self) -> int:
        """Return the number of finished matches."""
        return int(np.count_nonzero(self._ended))

    def choose(self, arrivals: Arrivals) -> None:
        """Add the rewards of these rows."""
        seat = arrivals.row % len(self._side)
        self._add_reward(arrivals.match, seat, arrivals.reward)

    def _add_reward(
        self, match: NDArray[np.int64], seat: NDArray[np.int32] | NDArray[np.int64], reward: NDArray[np.float32]
    ) -> None:
        side = self._side[seat]
        np.add.at(self._reward, (match, side), reward / np.bincount(self._side)[side])

    def end(self, ending: Ending) -> None:
        """Record a finished match. Raises LeagueError if it cannot be written."""
        number, self.latest = ending.match, None
        first, second = self._seating.sides(number)
        guards = self._policies[first], self._policies[second]
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
        seats = [seat for seat, team in enumerate(self._seating.teams) if team == min(self._seating.teams)]
        score = min(max(float(ending.score[seats].mean()), 0.0), 1.0)
        if any(forfeits):
            score = 0.0 if forfeits[0] else 1.0
            self._played.forfeits[first if forfeits[0] else second] += 1
        reason = forfeits[0] or forfeits[1]
        record = MatchRecord(first, second, ending.seed, score, reason, ending.truncated)
        self._writer.add(record)
        self._played.matches += 1
        self._played.records.append(record)
        everyone = np.arange(len(self._side))
        self._add_reward(np.full(len(everyone), number), everyone, ending.reward)
        self._played.rewards.append((float(self._reward[number, 0]), float(self._reward[number, 1])))
        self.latest = None if reason else record
