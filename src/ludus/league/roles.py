"""The roles of runs that train in one league, and the rules by which they join it and begin anew. Pure.

The roles are those of AlphaStar (Vinyals et al. 2019): main agents play against everyone, league exploiters look for
weaknesses of the whole league, main exploiters for those of the main agents. Exploiters begin anew after they joined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ludus.config.settings import Count, Few, NonNegative, Positive, Share
from ludus.league.matchmaking import MEMBER_PREFIX
from ludus.league.opponent_log import OpponentLine

MAIN, LEAGUE_EXPLOITER, MAIN_EXPLOITER = "main", "league-exploiter", "main-exploiter"
Number = Annotated[int, Meta(ge=0, le=1024)]
MAIN_PATTERN = f"{MAIN}-[0-9]*"  # of the names of main agents in the league
LEAST_MATCHES = 20  # of an exploiter against each opponent, before its win rates count

OPPONENTS: Mapping[str, Mapping[str, Any]] = {  # settings `opponents` of each role; Any: values of several types
    MAIN: {"past": 0.15, "scripted": 0.0, "league_share": 0.5, "choose": "pfsp", "weighting": "squared"},
    LEAGUE_EXPLOITER: {"past": 0.0, "scripted": 0.0, "league_share": 1.0, "choose": "pfsp", "weighting": "capped"},
    MAIN_EXPLOITER: {
        "past": 0.0,
        "scripted": 0.0,
        "league_share": 1.0,
        "choose": "pfsp",
        "weighting": "variance",
        "league_members": [MAIN_PATTERN],
    },
}


class RoleConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The runs of one role."""

    count: Number = 1
    set: dict[str, Any] = {}  # values by setting, which override those of all runs. Any: checked by the run's settings
    promote_minutes: Positive = 5.0  # minutes of training after which its weights join the league in any case
    # win rate against each of its opponents in the league from which it joins at once; 0: never
    promote_win_rate: Share = 0.0
    reset: Share = 0.0  # probability that it begins anew after it has joined
    restart_from: Literal["scratch", "main"] = "scratch"  # weights that it begins anew with: random, or a main agent's


EXPLOITER = RoleConfig(promote_minutes=20.0, promote_win_rate=0.7, reset=0.25)


class LeagueTrainingConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file that `ludus league train` reads."""

    league: str  # folder of the league; it is made if it does not exist
    config: str = ""  # preset or YAML file with the settings of all runs; empty: the defaults of `game`
    game: str = ""  # name of a game, instead of `config`
    set: dict[str, Any] = {}  # values by setting for all runs. Any: checked by the run's settings
    runs: str = ""  # folder of the runs; empty: `runs` in the folder of the league
    minutes: Positive = 60.0  # of training of each run, over all its restarts from scratch
    beside: Few = 1  # runs that train at the same time; the others wait for their turn
    turn_minutes: Positive = 5.0  # after which a run makes room for one that waits
    matches: Count = 20  # matches of each new member against every other one, for ratings
    failures_in_a_row: Count = 5  # after which a run is given up
    seed: Annotated[int, Meta(ge=0)] = 1
    main: RoleConfig = RoleConfig()
    league_exploiter: RoleConfig = EXPLOITER
    main_exploiter: RoleConfig = msgspec.structs.replace(EXPLOITER, reset=1.0)

    def role(self, name: str) -> RoleConfig:
        """Return the settings of a role."""
        return {MAIN: self.main, LEAGUE_EXPLOITER: self.league_exploiter, MAIN_EXPLOITER: self.main_exploiter}[name]

    def agents(self) -> list[tuple[str, str]]:
        """Return name and role of all runs, such as ("main-1", "main")."""
        roles = (MAIN, MAIN_EXPLOITER, LEAGUE_EXPLOITER)
        return [(f"{role}-{number}", role) for role in roles for number in range(1, self.role(role).count + 1)]


@dataclass(frozen=True, slots=True)
class AgentProgress:
    """The progress of a run within its present generation."""

    training_s: float  # of its latest checkpoint
    joined_s: float  # training time at which it last joined the league
    line: OpponentLine | None  # latest line of its opponents.jsonl


def promotion_due(role: RoleConfig, progress: AgentProgress, members: Collection[str]) -> str:
    """Return why a run joins the league now, or an empty text. `members` are its opponents in the league."""
    since_s = progress.training_s - progress.joined_s
    if since_s >= 60 * role.promote_minutes:
        return f"{since_s / 60:.1f} minutes have passed"
    if not role.promote_win_rate or progress.line is None or not members or since_s <= 0:
        return ""
    by_name = {each.name.removeprefix(MEMBER_PREFIX): each for each in progress.line.opponents}
    records = [by_name.get(name) for name in members]
    worst = min((0.0 if each is None or each.matches < LEAST_MATCHES else each.win_rate) for each in records)
    if worst < role.promote_win_rate:
        return ""
    return f"it wins {100 * worst:.0f}% or more against each of {len(records)}"


def begins_anew(role: RoleConfig, generator: np.random.Generator) -> bool:
    """Return whether a run that has joined the league begins anew."""
    return role.reset > 0 and bool(generator.random() < role.reset)


def next_turns(waiting: Sequence[str], turn_s: Mapping[str, float], room: int) -> list[str]:
    """Return the runs that train next: those that have trained least. `turn_s` is their training time."""
    return sorted(waiting, key=lambda name: (turn_s.get(name, 0.0), waiting.index(name)))[: max(room, 0)]


def run_settings(
    config: LeagueTrainingConfig, role: str, *, seed: int, minutes: float, start_from: str
) -> dict[str, Any]:  # Any: values of several types
    """Return the settings of a run, by their dotted names, which override those of `config.config`."""
    settings: dict[str, Any] = {f"opponents.{name}": value for name, value in OPPONENTS[role].items()}
    every_s = max(1.0, min(30.0, 60 * config.role(role).promote_minutes / 3))
    settings |= {
        "seed": seed,
        "budget.minutes": minutes,
        "budget.updates": 0,
        "budget.decisions": 0,
        "checkpoint.every_s": every_s,
        "start_from": start_from,
        **config.set,
        **config.role(role).set,
        "opponents.league": config.league,
    }
    return settings


def remaining_minutes(config: LeagueTrainingConfig, trained_s: NonNegative) -> float:
    """Return the minutes that a run may still train."""
    return max(config.minutes - trained_s / 60, 0.0)
