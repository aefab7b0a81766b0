"""Names that people know from elsewhere, and what they mean here. Pure.

`game: gymnasium:CartPole-v1` is the game `gymnasium` with the first of its options, `env`, set to `CartPole-v1`.
`n_envs: 64` is 64 matches on all hosts together, as other libraries count environments; `fleet.matches` is of one host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ludus.config.document import shown
from ludus.config.settings import FleetConfig, RunConfig
from ludus.errors import ConfigError

N_ENVS = "n_envs"
MAX_ENVIRONMENTS = 65_536


def parted(game: str) -> tuple[str, str | None]:
    """The game, and what its first option is to be."""
    name, colon, main = game.partition(":")
    return name, main if colon else None


def named(
    options: Mapping[str, Any],  # Any: the game's own
    main: str | None,
    struct: type[msgspec.Struct],
    game: str,
) -> dict[str, Any]:
    """The options with the first of them as the name of the game says."""
    if main is None:
        return dict(options)
    first = msgspec.structs.fields(struct)[0].encode_name
    if not main:
        raise ConfigError(f"game: {game} ends with its colon; behind it stands {first}, or leave the colon out")
    if options.get(first, main) != main:
        raise ConfigError(f"game: {game} says options.{first} is {main}, but it is {options[first]!r}; leave one out")
    return {**options, first: main}


def title(config: RunConfig) -> str:
    """The game and its first option, for people to read."""
    return " ".join((config.game, *(str(value) for value in list(config.options.values())[:1])))


def taken(data: Mapping[str, Any]) -> tuple[dict[str, Any], int | None]:  # Any: not yet checked
    """The data without n_envs, and n_envs. Refused beside fleet.matches: they are two words for one thing."""
    rest = {key: value for key, value in data.items() if key != N_ENVS}
    if N_ENVS not in data:
        return rest, None
    environments, fleet = data[N_ENVS], data.get("fleet")
    whole = isinstance(environments, int) and not isinstance(environments, bool)
    if not whole or not 1 <= environments <= MAX_ENVIRONMENTS:
        raise ConfigError(
            f"{N_ENVS}: must be a whole number, from 1 to {MAX_ENVIRONMENTS}, but is {shown(repr(environments))}"
        )
    if isinstance(fleet, Mapping) and "matches" in fleet:
        raise ConfigError(
            f"{N_ENVS}: is fleet.matches of all hosts together, and fleet.matches is set; leave one out, or where a "
            "preset sets it, use --set fleet.matches=N, for each host"
        )
    return rest, environments


def shared_out(environments: int, fleet: FleetConfig, cores: int) -> FleetConfig:
    """That many matches in all: on as many hosts as divide them evenly, at most fleet.hosts or one a core."""
    wanted = min(fleet.hosts or cores, environments)
    if fleet.hosts and environments % wanted:
        raise ConfigError(f"{N_ENVS}: {environments} cannot be shared out evenly to fleet.hosts: {fleet.hosts}")
    hosts = max(hosts for hosts in range(1, wanted + 1) if environments % hosts == 0)
    return msgspec.structs.replace(fleet, hosts=hosts, matches=environments // hosts)
