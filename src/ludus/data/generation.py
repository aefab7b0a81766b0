"""Plays matches of two policies into a dataset. Their numbers decide what remains after an interruption."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.data.dataset import Dataset
from ludus.data.live_rows import LiveRows
from ludus.data.manifest import PlanNote
from ludus.data.recorder import LedgerRecorder
from ludus.errors import FleetError
from ludus.evaluation import playing
from ludus.evaluation.schedule import Schedule
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import Game
from ludus.metrics.intervals import wilson
from ludus.spec import GameSpec, teams_in
from ludus.types import Policy

POLL_S = 1.0
WINDOW = 100_000  # matches that one fleet plays: its hosts receive their seeds in one frame
log = logging.getLogger(__name__)
PolicyOf = Callable[[GameSpec], Mapping[str, Policy]]


@dataclass(frozen=True, slots=True)
class GenerationProgress:
    """Progress of `generate`."""

    matches: int  # finished, including those of earlier calls
    planned: int
    decisions: int  # chosen in this call


@dataclass(frozen=True, slots=True)
class PolicyScore:
    """The result of one policy of a dataset, over all matches in which another policy played, or over self-play."""

    policy: str
    opponent: str
    matches: int
    wins: int
    ties: int
    interval: tuple[float, float]  # 95% Wilson interval of the win rate

    @property
    def win_rate(self) -> float:
        return self.wins / self.matches if self.matches else 0.0


def schedule_of(dataset: Dataset) -> Schedule:
    """Return all planned matches. Every seed is played from every side, except in self-play.

    A plan with more matches begins with those of a shorter one.
    """
    manifest, plan = dataset.manifest, dataset.manifest.plan
    assert plan is not None, "a dataset that is generated has a plan"
    names = [policy.name for policy in manifest.policies]
    if plan.a == plan.b:  # one side, which the only policy plays
        seeds = np.random.default_rng(plan.seed).integers(0, 2**53, plan.matches)
        return Schedule((names[plan.a],), tuple(seeds.tolist()), (0,) * manifest.spec.seats)
    return Schedule.of([names[plan.b]], plan.matches, plan.seed, teams_in(manifest.spec.layout, manifest.spec.seats))


def recorded_numbers(dataset: Dataset) -> NDArray[np.int64]:
    """Return the numbers of all matches in the ledger. Damaged shards are left out with a warning."""
    numbers = [content.matches.number for _, content in dataset.undamaged()]
    return np.concatenate([np.empty(0, np.int64), *numbers])


def generate(
    dataset: Dataset,
    game: Game,
    options: msgspec.Struct,
    policies: PolicyOf,
    *,
    log_dir: Path,
    hosts: int,
    fleet: FleetConfig | None = None,
    usable_cores: int | None = None,
    keep_log: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[GenerationProgress], None] = lambda progress: None,
) -> bool:
    """Play all planned matches that are not in the dataset. Returns False if `stopped()` became true before the end.

    Damaged shards are set aside with a warning, and their matches are played again. Finished matches are written in
    every case. `options` are those of the hosts: with the addresses of servers, if there are any. Raises DatasetError
    if matches cannot be written, and FleetError if no host is left.
    """
    schedule = schedule_of(dataset)
    repeats = dataset.set_damaged_aside()
    if repeats:
        log.warning("%d matches of damaged shards are played again", repeats)
    done = np.zeros(len(schedule), np.bool_)
    done[recorded_numbers(dataset)] = True
    remaining = np.flatnonzero(~done)
    session = GenerationSession(dataset, schedule, stopped, progress, int(done.sum()))
    matches = schedule.matches()
    for begin in range(0, len(remaining), WINDOW):
        window = [matches[number] for number in remaining[begin : begin + WINDOW].tolist()]
        with HostFleet(
            game.command(options),
            fleet or FleetConfig(),
            options=msgspec.to_builtins(options),
            seed=schedule.seeds[0],
            log_dir=log_dir,
            hosts=hosts,
            schedule=window,
            keep_log=keep_log,
            usable_cores=usable_cores,
        ) as running:
            if not session.play(running, policies(running.spec), len(window)):
                return False
    return True


class GenerationSession:
    """One call of `generate`."""

    def __init__(
        self,
        dataset: Dataset,
        schedule: Schedule,
        stopped: Callable[[], bool],
        progress: Callable[[GenerationProgress], None],
        matches: int,
    ) -> None:
        self._dataset, self._schedule, self._stopped, self._progress = dataset, schedule, stopped, progress
        plan = dataset.manifest.plan
        assert plan is not None
        self._plan: PlanNote = plan
        self._agent = dataset.manifest.policies[plan.a].name
        self._matches = matches
        self.decisions = 0

    def play(self, fleet: HostFleet, policies: Mapping[str, Policy], matches: int) -> bool:
        """Play the schedule of a fleet to its end. Returns False if it was stopped."""
        recorder = self.recorder(fleet)
        try:
            while matches:
                if self._stopped():
                    return False
                ended = self.step(fleet, policies, recorder)
                matches -= ended
                if not ended and matches and fleet.health.exhausted:
                    raise FleetError(f"{matches} matches were given up by their hosts; continue with --resume")
            return True
        finally:
            recorder.write()

    def recorder(self, fleet: HostFleet) -> LedgerRecorder:
        """Return a recorder for the matches of a fleet."""
        live = None if self._dataset.manifest.replayable else LiveRows(fleet.spec)
        return LedgerRecorder(self._dataset, fleet.rows, self._policies, live=live)

    def step(self, fleet: HostFleet, policies: Mapping[str, Policy], recorder: LedgerRecorder) -> int:
        """Receive rows and answer them. Returns the number of matches that ended."""
        arrivals = fleet.recv(POLL_S)
        for ending in arrivals.endings:
            recorder.end(ending)
        ended = sum(not ending.void for ending in arrivals.endings)
        if len(arrivals):
            seating = self._schedule.seating(self._agent)
            action = playing.choose(arrivals, seating, [policies[name] for name in seating.players])
            fleet.send(arrivals.row, action)
            recorder.choose(arrivals, action)
        self._matches, self.decisions = self._matches + ended, self.decisions + len(arrivals)
        recorder.write_due()
        self._progress(GenerationProgress(self._matches, self._plan.matches, self.decisions))
        return ended

    def _policies(self, number: int) -> list[int]:
        agents = self._schedule.place(number)[1]
        return [self._plan.a if seat in agents else self._plan.b for seat in range(self._schedule.seats)]


def standings(dataset: Dataset) -> list[PolicyScore]:
    """Return the results of every pair of policies that met. Damaged shards are left out with a warning."""
    counts: dict[tuple[int, int], Counter[str]] = {}
    teams = np.array(teams_in(dataset.manifest.spec.layout, dataset.manifest.spec.seats))
    for _, content in dataset.undamaged():
        policy, score = content.matches.policy, content.matches.score
        seats = [int(np.flatnonzero(teams == team)[0]) for team in np.unique(teams)]  # one of each team
        pairs = [(one, other) for one in seats for other in seats if one != other] or [(seats[0], seats[0])]
        for seat, other in pairs:
            for a, b in np.unique(policy[:, [seat, other]], axis=0).tolist():
                if a == b and seat != seats[0]:  # in self-play, the result is that of the first seat
                    continue
                pairing = (policy[:, seat] == a) & (policy[:, other] == b)
                count = counts.setdefault((a, b), Counter())
                count["matches"] += int(pairing.sum())
                count["wins"] += int((score[pairing, seat] > 0.5).sum())
                count["ties"] += int((score[pairing, seat] == 0.5).sum())
    names = [policy.name for policy in dataset.manifest.policies]
    return [
        PolicyScore(
            names[a], names[b], count["matches"], count["wins"], count["ties"], wilson(count["wins"], count["matches"])
        )
        for (a, b), count in sorted(counts.items())
        if a <= b
    ]
