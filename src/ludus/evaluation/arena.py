"""Plays one policy against others on a fixed list of matches. Every seed is played once from every side.

All scheduled matches count: a result of the first ones to end would favour short matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from ludus.config.settings import FleetConfig
from ludus.errors import ConfigError, EvaluationError
from ludus.evaluation import playing
from ludus.evaluation.recording import Recorder
from ludus.evaluation.schedule import Schedule
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import Fleet
from ludus.games import hooks
from ludus.games.registry import Game
from ludus.metrics import observer
from ludus.metrics.core import Metrics
from ludus.metrics.intervals import normal, wilson
from ludus.metrics.times import ACTOR
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending, Policy

ALONE = observer.ALONE

Policies = (
    Mapping[str, Policy] | Callable[[GameSpec], Mapping[str, Policy]]
)  # policies by name, or a function that makes them for the spec of the hosts


@dataclass(frozen=True, slots=True)
class MatchupResult:
    """The agent's result against one opponent. A tie is not a win."""

    opponent: str  # name of the scripted policy
    matches: int  # finished matches: wins, losses and ties
    wins: int  # matches that the agent won
    losses: int  # matches that the agent lost
    ties: int  # matches without a winner
    truncated: int  # matches cut short by a limit; their score decides whether they are won, lost or tied
    voided: int  # matches lost with their host and played again
    moved: int  # matches moved to another host because theirs was given up
    refused: int  # actions that the game rejected and asked for again
    decisions: int  # decisions of the agent, including those in voided matches
    turns: float  # mean number of turns per match
    score: float  # mean score of the agent: 1 for a win, 0.5 for a tie
    interval: tuple[float, float]  # 95% Wilson interval of the win rate
    reward: float  # mean reward of the agent per match
    reward_interval: tuple[float, float]  # 95% interval of the mean reward

    @property
    def win_rate(self) -> float:
        """Wins divided by matches."""
        return self.wins / self.matches


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an evaluation."""

    ended: int  # finished matches
    scheduled: int  # all matches
    opponent: str  # opponent in the match that ended last


def play(
    game: Game,
    options: msgspec.Struct,
    policies: Policies,
    *,
    agent: str,
    opponents: Sequence[str],
    matches: int,
    seed: int,
    log_dir: Path,
    fleet: FleetConfig | None = None,
    hosts: int | None = None,
    usable_cores: int | None = None,
    deadline_s: float = 3600.0,
    teams: Sequence[int] = (0, 1),
    progress: Callable[[Progress], None] | None = None,
    tick: Callable[[], None] | None = None,
    save_replays: Path | None = None,
    replays: int = 8,
    metrics: Metrics | None = None,
) -> list[MatchupResult]:
    """Start hosts and play `matches` against each opponent. Returns one result per opponent, in their order.

    Without opponents, the agent plays a game with one seat. Otherwise the opponent plays all seats outside the agent's
    team. With `save_replays`, `replays` matches are saved in that folder for `ludus replay`. `metrics` receives the
    time of each activity after the start of the hosts. `tick` is called at least once a second; an exception that it
    raises ends the evaluation.
    Raises EvaluationError if some matches do not end within `deadline_s`, and FleetError if no host is left.
    """
    metrics = metrics or Metrics(ACTOR)
    built = msgspec.to_builtins(options)
    schedule = Schedule.of(opponents, matches, seed, teams)
    with HostFleet(
        game.command(options),
        fleet or FleetConfig(),
        options=built,
        seed=seed,
        log_dir=log_dir,
        hosts=hosts,
        schedule=schedule.matches(),
        keep_log=save_replays is not None,
        usable_cores=usable_cores,
    ) as running:
        recorder = _recorder(save_replays, replays, schedule, agent, game, running.spec.schema, built)
        policy_of = policies(running.spec) if callable(policies) else policies
        metrics.begin()
        results = contest(
            running,
            schedule,
            policy_of,
            agent=agent,
            deadline_s=deadline_s,
            progress=progress,
            tick=tick,
            recorder=recorder,
            metrics=metrics,
        )
        metrics.merge_times(running.take_times())
        metrics.report()  # the time so far, before the hosts are ended
        return results


def _recorder(
    folder: Path | None,
    replays: int,
    schedule: Schedule,
    agent: str,
    game: Game,
    schema: int,
    options: Mapping[str, object],
) -> Recorder | None:
    """Return a recorder of a few matches, or None without a folder. Options of this machine only are not saved."""
    if folder is None:
        return None
    return Recorder(
        folder,
        schedule.sample(replays),
        seats=schedule.seats,
        game=game.name,
        schema=schema,
        options=game.saved_options(options),
        policies=lambda number: schedule.names(number, agent),
        stable_log=hooks.stable_log_of(game),
    )


def contest(
    fleet: Fleet,
    schedule: Schedule,
    policies: Mapping[str, Policy],
    *,
    agent: str,
    deadline_s: float,
    progress: Callable[[Progress], None] | None = None,
    tick: Callable[[], None] | None = None,
    recorder: Recorder | None = None,
    metrics: Metrics | None = None,
) -> list[MatchupResult]:
    """Play a schedule on a fleet that was started with it. Raises EvaluationError if matches were lost for good."""
    if fleet.spec.seats != schedule.seats:
        raise ConfigError(
            f"opponents: {fleet.spec.name} has {fleet.spec.seats} seats, this list of matches is for {schedule.seats}"
        )
    seating = schedule.seating(agent)
    missing = [name for name in seating.players if name not in policies]
    if missing:
        raise ConfigError(f"no policy named {', '.join(sorted(missing))}; there are {', '.join(sorted(policies))}")
    tally = ScheduleTally(schedule)

    def after(ending: Ending) -> None:
        if progress is not None:
            progress(Progress(tally.ended, len(schedule), schedule.opponents[schedule.place(ending.match)[0]]))

    playing.play_all(
        fleet,
        seating,
        policies,
        tally,
        deadline_s=deadline_s,
        agent=agent,
        after=after,
        tick=tick,
        recorder=recorder,
        metrics=metrics,
    )
    tally.move(fleet.health.moved)
    return tally.results()


class ScheduleTally:
    """Counts the results of the matches of a schedule, by opponent."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._ended = np.zeros(len(schedule), np.bool_)
        self._reward = np.zeros(len(schedule))  # reward of the agent in each match, by match number
        self._counts = [Counter[str]() for _ in schedule.opponents]
        self._turns = np.zeros(len(schedule.opponents))
        self._score = np.zeros(len(schedule.opponents))

    @property
    def ended(self) -> int:
        """Return the number of finished matches."""
        return int(np.count_nonzero(self._ended))

    def choose(self, arrivals: Arrivals) -> None:
        """Count the decisions of the agent and add its rewards, as the mean over its seats."""
        own = self._schedule.agents(arrivals.row, arrivals.match)
        agents = arrivals.match[own]
        np.add.at(self._reward, agents, arrivals.reward[own] * self._schedule.sides / self._schedule.seats)
        for opponent, decisions in enumerate(np.bincount(self._schedule.opponent(agents))):
            self._counts[opponent]["decisions"] += int(decisions)

    def end(self, ending: Ending) -> None:
        """Count a finished or voided match. Raises EvaluationError if the match has ended before."""
        opponent, seats = self._schedule.place(ending.match)
        counts = self._counts[opponent]
        if ending.void:
            counts["voided"] += 1
            self._reward[ending.match] = 0.0
            return
        if self._ended[ending.match]:
            raise EvaluationError(f"match {ending.match} ended twice; the fleet did not keep to its schedule")
        self._ended[ending.match] = True
        self._reward[ending.match] += float(ending.reward[seats].mean())
        score = float(ending.score[seats].mean())
        counts["wins" if score > 0.5 else "losses" if score < 0.5 else "ties"] += 1
        counts["truncated"] += ending.truncated
        counts["refused"] += int(ending.facts.get("refused", 0))
        self._turns[opponent] += ending.facts.get("turns", 0.0)
        self._score[opponent] += score

    def move(self, matches: Sequence[int]) -> None:
        """Count matches that moved to another host than they were scheduled for."""
        for match in matches:
            self._counts[self._schedule.place(match)[0]]["moved"] += 1

    def results(self) -> list[MatchupResult]:
        """Return one result per opponent. Call it after all matches have ended."""
        matches = len(self._schedule) // len(self._schedule.opponents)
        earned = self._reward.reshape(len(self._schedule.opponents), matches).tolist()
        return [
            MatchupResult(
                opponent=name,
                matches=matches,
                wins=counts["wins"],
                losses=counts["losses"],
                ties=counts["ties"],
                truncated=counts["truncated"],
                voided=counts["voided"],
                moved=counts["moved"],
                refused=counts["refused"],
                decisions=counts["decisions"],
                turns=float(turns) / matches,
                score=float(score) / matches,
                interval=wilson(counts["wins"], matches),
                reward=sum(rewards) / matches,
                reward_interval=normal(rewards),
            )
            for name, counts, turns, score, rewards in zip(
                self._schedule.opponents, self._counts, self._turns, self._score, earned, strict=True
            )
        ]
