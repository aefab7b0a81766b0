"""The host of PettingZoo environments: `python -m ludus.games.pettingzoo.host`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ludus.errors import ConfigError
from ludus.games.environments.pace import Pace, described, in_threads, measured
from ludus.games.pettingzoo.loading import Environment, is_parallel, maker
from ludus.games.pettingzoo.match import ParallelMatch, TurnMatch
from ludus.games.pettingzoo.options import PettingZooOptions
from ludus.games.pettingzoo.seating import Seating
from ludus.sdk.match import HostedGame, Match, Turn
from ludus.sdk.serve import serve


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        env_options = msgspec.convert(dict(options), PettingZooOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"pettingzoo options: {error}") from error
    make = maker(env_options)
    first = make()
    seating = Seating.of(first, env_options.env)
    kind = ParallelMatch if is_parallel(first) else TurnMatch
    pace = (
        pace_of(kind(make, seating, env_options.max_steps, first))
        if env_options.stepping == "auto"
        else Pace(0, 0.0, 0.0)
    )
    unused: list[Environment] = [first]

    def match() -> Match:
        return kind(make, seating, env_options.max_steps, unused.pop() if unused else None)

    return HostedGame(
        seating.spec,
        match,
        {"stepping": described(env_options.stepping, pace)},
        threads=in_threads(env_options.stepping, pace),
        deadline_s=env_options.step_deadline_s,
    )


def pace_of(match: Match) -> Pace:
    """Measure turns with random legal actions. The environment is reset before its first match."""
    generator = np.random.default_rng(0)
    turn: list[Turn] = []

    def step() -> None:
        if not turn or turn[-1].over:
            turn[:] = [match.start(0)]
        legal = turn[-1].legal
        turn[:] = [
            match.advance(
                {
                    seat: int(generator.choice(np.flatnonzero(row)))
                    for seat, row in zip(turn[-1].seats, legal, strict=True)
                }
            )
        ]

    return measured(step)


if __name__ == "__main__":
    sys.exit(serve(make_game))
