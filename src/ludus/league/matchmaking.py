"""Assigns matches to self-play, past selves, scripted opponents and members of a league by configured shares.

Outside self-play, exactly one team learns, which is one seat in games without teams.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from ludus.config.settings import OpponentsConfig
from ludus.errors import ConfigError
from ludus.games.named_policies import refuse_unknown
from ludus.league.records import NONE, Records, draw, drawn_win_rates, merged, pfsp_weights
from ludus.metrics.observer import ALONE
from ludus.policies.bank import LEARNER
from ludus.types import Ending, Pairing

PAST_PREFIX, SCRIPTED, MEMBER_PREFIX = "past:", "scripted:", "league:"
SELF_PLAY = "self-play"
RATE_WINDOW = 200  # approximate number of matches that a win rate averages over
NonNegative = Annotated[int, Meta(ge=0)]
OPPONENT_BLOCK = 64  # matches against one opponent before the next is drawn; every active opponent costs a forward pass


class Rate(Struct):
    """The learner's mean score against an opponent: over the first `RATE_WINDOW` matches, then a moving average."""

    matches: NonNegative = 0
    score: float = 0.5

    def add(self, score: float) -> None:
        self.matches += 1
        self.score += (score - self.score) / min(self.matches, RATE_WINDOW)


class CurrentOpponent(Struct):
    """The current opponent of one kind and the number of its matches so far."""

    name: str | None = None
    matches: NonNegative = 0

    def among(self, names: Sequence[str], choose: Callable[[Sequence[str]], int]) -> str | None:
        """Return the opponent of the next match, or None if there is no candidate. `choose` returns an index."""
        if self.name not in names or self.matches >= OPPONENT_BLOCK:
            self.name = names[choose(names)] if names else None
            self.matches = 0
        self.matches += 1
        return self.name


class OpponentNews(Struct, frozen=True):
    """News about opponents, from the learner's process to an actor."""

    members: tuple[str, ...] = ()  # members of the league that may play, the oldest first
    weights: dict[str, float] = {}  # of the mixture that `choose: nash` draws from, by opponent
    others: Records = {}  # the records of all other actors


class MatchmakerState(Struct, frozen=True):
    generator: str  # JSON of the generator's state, whose integers have 128 bits
    rates: dict[str, Rate]
    past: CurrentOpponent
    scripted: CurrentOpponent
    member: CurrentOpponent = msgspec.field(default_factory=CurrentOpponent)
    records: Records = {}  # of this actor
    starts: dict[str, NonNegative] = {}  # matches that began, by opponent
    news: OpponentNews = OpponentNews()

    def forget(self) -> MatchmakerState:
        """Return the state for a new stage: results of the previous one do not count."""
        news = msgspec.structs.replace(self.news, others={})
        return msgspec.structs.replace(self, rates={}, records={}, news=news)


class SharedMatchmaker:
    """Draws opponents by the configured shares. `rates` holds the mean score of the learner by kind of opponent, and
    `records` its results by opponent.

    `load` is called before a member of the league plays. It returns False if the member cannot play. `version` is the
    learner's, and is to be kept up to date.
    """

    def __init__(
        self,
        config: OpponentsConfig,
        *,
        teams: Sequence[int],
        scripted: Sequence[str],
        seed: int,
        load: Callable[[str], bool] = lambda member: True,
    ) -> None:
        """`teams` is the team of each seat. Raises ConfigError if the shares add up to more than 1."""
        refuse_shares(config)
        self._config = config
        self._teams = tuple(teams)
        self._sides = len(set(teams))
        self._scripted = tuple(SCRIPTED + name for name in scripted_names(config, scripted))
        self._generator = np.random.default_rng(seed)
        self._load = load
        self._past: tuple[str, ...] = ()
        self._current_past, self._current_scripted, self._current_member = (CurrentOpponent() for _ in range(3))
        self._starts: dict[str, int] = {}
        self._news = OpponentNews()
        self.version = 0
        self.rates: dict[str, Rate] = {}
        self.records: Records = {}

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(SCRIPTED) for name in self._scripted)

    @property
    def member(self) -> str | None:
        """The member of the league that plays now, without its prefix."""
        return self._current_member.name and self._current_member.name.removeprefix(MEMBER_PREFIX)

    def set_past(self, versions: Iterable[int]) -> None:
        """Set the past selves that may play. Without any, their share of the matches is self-play."""
        self._past = tuple(f"{PAST_PREFIX}{version}" for version in versions)
        self._forget_gone()

    def tell(self, news: OpponentNews) -> None:
        """Receive the members of the league that may play, and the results of other actors."""
        self._news = news
        self._forget_gone()

    def pair(self, match: int) -> Pairing:
        """Name a policy for every seat of a new match."""
        opponent = self._opponent() if self._sides > 1 else None
        name = SELF_PLAY if opponent is None else opponent
        self._starts[name] = self._starts.get(name, 0) + 1
        if opponent is None:
            return Pairing(match, (LEARNER,) * len(self._teams))
        learns = int(self._generator.integers(self._sides))
        return Pairing(match, tuple(LEARNER if team == learns else opponent for team in self._teams))

    def report(self, pairing: Pairing, ending: Ending) -> None:
        """Count the result of a match that was not self-play. Without a second side, the opponent is `none`."""
        opponent = next((name for name in pairing.policies if name != LEARNER), None)
        if not ending.void and self._sides == 1:
            self.rates.setdefault(ALONE, Rate()).add(float(ending.score[0]))
        if ending.void or opponent is None:
            return
        score = float(ending.score[pairing.policies.index(LEARNER)])
        self.rates.setdefault(kind_of(opponent), Rate()).add(score)
        record = self.records.get(opponent, NONE)
        share = min(max(score, 0.0), 1.0)
        self.records[opponent] = record.plus(share, self.version, self._config.half_life)

    def state(self) -> MatchmakerState:
        return MatchmakerState(
            json.dumps(self._generator.bit_generator.state),
            dict(self.rates),
            self._current_past,
            self._current_scripted,
            self._current_member,
            dict(self.records),
            dict(self._starts),
            self._news,
        )

    def restore(self, state: MatchmakerState) -> None:
        """Restore the state of an earlier matchmaker."""
        self._generator.bit_generator.state = json.loads(state.generator)
        self.rates, self.records, self._starts = dict(state.rates), dict(state.records), dict(state.starts)
        self._current_past, self._current_scripted = state.past, state.scripted
        self._current_member, self._news = state.member, state.news

    def _opponent(self) -> str | None:
        config, sample = self._config, self._generator.random()
        if sample < config.past:
            return self._current_past.among(self._past, self._choose)
        if sample < config.past + config.scripted:
            return self._current_scripted.among(self._scripted, self._choose)
        if config.league and sample < config.past + config.scripted + config.league_share:
            return self._member()
        return None

    def _member(self) -> str | None:
        """Return a member of the league that can play, or None."""
        names = [MEMBER_PREFIX + name for name in self._news.members]
        while names:
            name = self._current_member.among(names, self._choose)
            assert name is not None
            if self._load(name.removeprefix(MEMBER_PREFIX)):
                return name
            names.remove(name)
        return None

    def _choose(self, names: Sequence[str]) -> int:
        """Return the index of the next opponent."""
        config = self._config
        if config.choose == "pfsp":
            own_and_others = merged((self.records, self._news.others), config.half_life)
            records = [own_and_others.get(name, NONE).at(self.version, config.half_life) for name in names]
            return draw(pfsp_weights(drawn_win_rates(records, self._generator), config.weighting), self._generator)
        if names[0].startswith(SCRIPTED):
            return int(self._generator.integers(len(names)))
        if config.choose == "latest":
            return len(names) - 1
        if config.choose == "nash":
            return draw(nash_weights(self._news.weights, names), self._generator)
        return int(self._generator.integers(len(names)))

    def _forget_gone(self) -> None:
        """Drop the records of past selves and members that play no more."""
        there = {*self._past, *self._scripted, *(MEMBER_PREFIX + name for name in self._news.members)}
        self.records = {name: record for name, record in self.records.items() if name in there}


def nash_weights(mixture: Mapping[str, float], names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the weights of opponents in a mixture. Opponents that joined after it was computed get the mean weight."""
    weights = [mixture[name] for name in names if name in mixture]
    mean = sum(weights) / len(weights) if weights else 1.0
    return np.array([mixture.get(name, mean) for name in names], np.float64)


def kind_of(opponent: str) -> str:
    """Return the kind of an opponent, as metrics name it: past, league, or the name of a scripted policy."""
    for prefix in (PAST_PREFIX, MEMBER_PREFIX):
        if opponent.startswith(prefix):
            return prefix.removesuffix(":")
    return opponent.removeprefix(SCRIPTED)


def refuse_shares(config: OpponentsConfig) -> None:
    """Raise ConfigError if the shares of opponents add up to more than 1."""
    league = config.league_share if config.league else 0.0
    if config.past + config.scripted + league > 1 + 1e-9:
        third = f" and league_share={league}" if config.league else ""
        raise ConfigError(
            f"opponents: the shares past={config.past} and scripted={config.scripted}{third} are more than 1 together"
        )


def scripted_names(config: OpponentsConfig, scripted: Sequence[str]) -> tuple[str, ...]:
    """Return the scripted opponents of the training: the configured ones, or all except `random`."""
    refuse_unknown(config.scripted_names, scripted, "opponents.scripted_names")
    return config.scripted_names or tuple(name for name in scripted if name != "random")
