"""The host of Gymnasium environments: `python -m ludus.games.gymnasium.host`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from ludus.errors import ConfigError
from ludus.games.environments.actions import FlatActions
from ludus.games.environments.observations import pack, parts_of
from ludus.games.environments.pace import Pace, described, in_threads, measured
from ludus.games.gymnasium.loading import Environment, maker
from ludus.games.gymnasium.match import EnvKind, EpisodeGroup, EpisodeMatch, probe
from ludus.games.gymnasium.options import GymnasiumOptions
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve
from ludus.spec import GameSpec

SCHEMA = 1


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        env_options = msgspec.convert(dict(options), GymnasiumOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"gymnasium options: {error}") from error
    make = maker(env_options)
    where = f"gymnasium:{env_options.env}"
    first = probe(make, where)
    parts = parts_of(first.observation_space, where)
    actions = FlatActions(first.action_space, where)
    spec = GameSpec(f"gymnasium/{env_options.env}", 1, actions.count, pack(parts), SCHEMA)
    pace = pace_of(first) if env_options.stepping == "auto" else Pace(0, 0.0, 0.0)
    kind = EnvKind(make, spec, parts, actions, env_options.max_steps)
    facts = {"stepping": described(env_options.stepping, pace)}
    if not in_threads(env_options.stepping, pace):
        return HostedGame(spec, facts=facts, group=lambda slots: EpisodeGroup(kind, slots, first))
    unused: list[Environment] = [first]

    def match() -> EpisodeMatch:
        return EpisodeMatch(kind, unused.pop() if unused else None)

    return HostedGame(spec, match, facts, threads=True, deadline_s=env_options.step_deadline_s)


def pace_of(environment: Environment) -> Pace:
    """Measure steps with random actions. The environment is reset before its first match."""
    state = {"over": True}

    def step() -> None:
        if state["over"]:
            environment.reset(seed=0)
        _, _, terminated, truncated, _ = environment.step(environment.action_space.sample())
        state["over"] = bool(terminated or truncated)

    return measured(step)


if __name__ == "__main__":
    sys.exit(serve(make_game))
