"""Shares of matches: self-play, past selves, scripted opponents. In all but self-play exactly one team learns, which is
one seat in games without teams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from ludus.config.settings import OpponentsConfig
from ludus.errors import ConfigError
from ludus.policies.bank import LEARNER
from ludus.suggestions import did_you_mean
from ludus.types import Ending, Pairing

PAST_PREFIX, SCRIPTED = "past:", "scripted:"
RATE_WINDOW = 200  # matches that a win rate looks back on, about
NonNegative = Annotated[int, Meta(ge=0)]
OPPONENT_BLOCK = (
    64  # matches against one opponent before another of its kind is drawn: each that plays costs a call of its own
)


class Rate(Struct):
    """A mean over all matches while they are few, then one that forgets."""

    matches: NonNegative = 0
    score: float = 0.5

    def add(self, score: float) -> None:
        self.matches += 1
        self.score += (score - self.score) / min(self.matches, RATE_WINDOW)


class CurrentOpponent(Struct):
    """The opponent of one kind that plays now, and for how many matches it has."""

    name: str | None = None
    matches: NonNegative = 0

    def among(self, names: Sequence[str], generator: np.random.Generator) -> str | None:
        """Who plays the next match; None when there is nobody."""
        if self.name not in names or self.matches >= OPPONENT_BLOCK:
            self.name = names[int(generator.integers(len(names)))] if names else None
            self.matches = 0
        self.matches += 1
        return self.name


class MatchmakerState(Struct, frozen=True):
    generator: str  # JSON of numpy's own description: its integers have 128 bits
    rates: dict[str, Rate]
    past: CurrentOpponent
    scripted: CurrentOpponent


class SharedMatchmaker:
    """Draws who plays by the configured shares. `rates` holds the learner's scores per opponent, ties a half."""

    def __init__(self, config: OpponentsConfig, *, teams: Sequence[int], scripted: Sequence[str], seed: int) -> None:
        """`teams`: of each seat."""
        if config.past + config.scripted > 1:
            raise ConfigError(
                f"opponents: the shares past={config.past} and scripted={config.scripted} are more than 1 together"
            )
        self._config = config
        self._teams = tuple(teams)
        self._sides = len(set(teams))
        self._scripted = tuple(SCRIPTED + name for name in scripted_names(config, scripted))
        self._generator = np.random.default_rng(seed)
        self._past: tuple[str, ...] = ()
        self._past_guest, self._scripted_guest = CurrentOpponent(), CurrentOpponent()
        self.rates: dict[str, Rate] = {}

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(SCRIPTED) for name in self._scripted)

    def set_past(self, versions: Iterable[int]) -> None:
        """The past selves that may play from now on. Until there are any, their share is self-play."""
        self._past = tuple(f"{PAST_PREFIX}{version}" for version in versions)

    def pair(self, match: int) -> Pairing:
        opponent = self._opponent() if self._sides > 1 else None
        if opponent is None:
            return Pairing(match, (LEARNER,) * len(self._teams))
        learns = int(self._generator.integers(self._sides))
        return Pairing(match, tuple(LEARNER if team == learns else opponent for team in self._teams))

    def report(self, pairing: Pairing, ending: Ending) -> None:
        others = [name for name in pairing.policies if name != LEARNER]
        if ending.void or not others:
            return
        score = float(ending.score[pairing.policies.index(LEARNER)])
        kind = "past" if others[0].startswith(PAST_PREFIX) else others[0].removeprefix(SCRIPTED)
        self.rates.setdefault(kind, Rate()).add(score)

    def state(self) -> MatchmakerState:
        return MatchmakerState(
            json.dumps(self._generator.bit_generator.state), dict(self.rates), self._past_guest, self._scripted_guest
        )

    def restore(self, state: MatchmakerState) -> None:
        """Go on where another left off."""
        self._generator.bit_generator.state = json.loads(state.generator)
        self.rates = dict(state.rates)
        self._past_guest, self._scripted_guest = state.past, state.scripted

    def _opponent(self) -> str | None:
        sample = self._generator.random()
        if sample < self._config.past:
            return self._past_guest.among(self._past, self._generator)
        if sample < self._config.past + self._config.scripted:
            return self._scripted_guest.among(self._scripted, self._generator)
        return None


def scripted_names(config: OpponentsConfig, scripted: Sequence[str]) -> tuple[str, ...]:
    """The scripted opponents to train against: those asked for, or all but random."""
    refuse_unknown(config.scripted_names, scripted, "opponents.scripted_names")
    return config.scripted_names or tuple(name for name in scripted if name != "random")


def refuse_unknown(names: Sequence[str], scripted: Sequence[str], path: str) -> None:
    """ConfigError for a name that no scripted policy has; `path` is where it stands in the configuration."""
    for name in names:
        if name not in scripted:
            raise ConfigError(f"{path}: this game has no scripted policy {name!r}; {did_you_mean(name, scripted)}")
