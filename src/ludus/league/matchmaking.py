"""Assigns matches to self-play, past selves and scripted opponents by configured shares.

Outside self-play, exactly one team learns, which is one seat in games without teams.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from ludus.config.settings import OpponentsConfig
from ludus.errors import ConfigError
from ludus.games.named_policies import refuse_unknown
from ludus.policies.bank import LEARNER
from ludus.types import Ending, Pairing

PAST_PREFIX, SCRIPTED = "past:", "scripted:"
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

    def among(self, names: Sequence[str], generator: np.random.Generator) -> str | None:
        """Return the opponent of the next match, or None if there is no candidate."""
        if self.name not in names or self.matches >= OPPONENT_BLOCK:
            self.name = names[int(generator.integers(len(names)))] if names else None
            self.matches = 0
        self.matches += 1
        return self.name


class MatchmakerState(Struct, frozen=True):
    generator: str  # JSON of the generator's state, whose integers have 128 bits
    rates: dict[str, Rate]
    past: CurrentOpponent
    scripted: CurrentOpponent


class SharedMatchmaker:
    """Draws opponents by the configured shares. `rates` holds the mean score of the learner by opponent."""

    def __init__(self, config: OpponentsConfig, *, teams: Sequence[int], scripted: Sequence[str], seed: int) -> None:
        """`teams` is the team of each seat. Raises ConfigError if the shares add up to more than 1."""
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
        self._current_past, self._current_scripted = CurrentOpponent(), CurrentOpponent()
        self.rates: dict[str, Rate] = {}

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(SCRIPTED) for name in self._scripted)

    def set_past(self, versions: Iterable[int]) -> None:
        """Set the past selves that may play. Without any, their share of the matches is self-play."""
        self._past = tuple(f"{PAST_PREFIX}{version}" for version in versions)

    def pair(self, match: int) -> Pairing:
        """Name a policy for every seat of a new match."""
        opponent = self._opponent() if self._sides > 1 else None
        if opponent is None:
            return Pairing(match, (LEARNER,) * len(self._teams))
        learns = int(self._generator.integers(self._sides))
        return Pairing(match, tuple(LEARNER if team == learns else opponent for team in self._teams))

    def report(self, pairing: Pairing, ending: Ending) -> None:
        """Count the result of a match that was not self-play."""
        others = [name for name in pairing.policies if name != LEARNER]
        if ending.void or not others:
            return
        score = float(ending.score[pairing.policies.index(LEARNER)])
        kind = "past" if others[0].startswith(PAST_PREFIX) else others[0].removeprefix(SCRIPTED)
        self.rates.setdefault(kind, Rate()).add(score)

    def state(self) -> MatchmakerState:
        return MatchmakerState(
            json.dumps(self._generator.bit_generator.state),
            dict(self.rates),
            self._current_past,
            self._current_scripted,
        )

    def restore(self, state: MatchmakerState) -> None:
        """Restore the state of an earlier matchmaker."""
        self._generator.bit_generator.state = json.loads(state.generator)
        self.rates = dict(state.rates)
        self._current_past, self._current_scripted = state.past, state.scripted

    def _opponent(self) -> str | None:
        sample = self._generator.random()
        if sample < self._config.past:
            return self._current_past.among(self._past, self._generator)
        if sample < self._config.past + self._config.scripted:
            return self._current_scripted.among(self._scripted, self._generator)
        return None


def scripted_names(config: OpponentsConfig, scripted: Sequence[str]) -> tuple[str, ...]:
    """Return the scripted opponents of the training: the configured ones, or all except `random`."""
    refuse_unknown(config.scripted_names, scripted, "opponents.scripted_names")
    return config.scripted_names or tuple(name for name in scripted if name != "random")
