"""Settings under names that users know from other libraries: `game:option` and `n_envs`. Pure.

`game: gymnasium:CartPole-v1` is the game `gymnasium` with the first of its options, `env`, set to `CartPole-v1`.
`n_envs: 64` means 64 concurrent matches on all hosts together; `fleet.matches` counts those of one host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ludus.config.document import excerpt
from ludus.config.settings import FleetConfig, RunConfig
from ludus.errors import ConfigError

N_ENVS = "n_envs"
MAX_ENVIRONMENTS = 65_536


def parted(game: str) -> tuple[str, str | None]:
    """Split `game:option` into the game and the value of its main option, which may be None."""
    name, colon, main = game.partition(":")
    return name, main if colon else None


def with_main_option(
    options: Mapping[str, Any],  # Any: the game's own
    main: str | None,
    struct: type[msgspec.Struct],
    game: str,
) -> dict[str, Any]:
    """Return the options with the main option (the first of the struct) from `game:option`."""
    if main is None:
        return dict(options)
    first = msgspec.structs.fields(struct)[0].encode_name
    if not main:
        raise ConfigError(f"game: {game} ends with a colon; write after it {first}, or leave the colon out")
    if options.get(first, main) != main:
        raise ConfigError(f"game: {game} says options.{first} is {main}, but it is {options[first]!r}; leave one out")
    return {**options, first: main}


def title(config: RunConfig) -> str:
    """Return the game and its main option as a title for reports and tables.

    An option with the name of the game says where the game is installed, which is no part of a title.
    """
    main = [str(value) for name, value in list(config.options.items())[:1] if name != config.game]
    return " ".join((config.game, *filter(None, main)))


def without_n_envs(data: Mapping[str, Any]) -> tuple[dict[str, Any], int | None]:  # Any: not yet checked
    """Split n_envs off a configuration. Raises ConfigError if fleet.matches is set as well."""
    rest = {key: value for key, value in data.items() if key != N_ENVS}
    if N_ENVS not in data:
        return rest, None
    environments, fleet = data[N_ENVS], data.get("fleet")
    whole = isinstance(environments, int) and not isinstance(environments, bool)
    if not whole or not 1 <= environments <= MAX_ENVIRONMENTS:
        raise ConfigError(
            f"{N_ENVS}: must be a whole number, from 1 to {MAX_ENVIRONMENTS}, but is {excerpt(repr(environments))}"
        )
    if isinstance(fleet, Mapping) and "matches" in fleet:
        raise ConfigError(
            f"{N_ENVS}: is fleet.matches of all hosts together, and fleet.matches is set; leave one out, or where a "
            "preset sets it, use --set fleet.matches=N, for each host"
        )
    return rest, environments


def shared_out(environments: int, fleet: FleetConfig, usable_cores: int) -> FleetConfig:
    """Distribute `environments` matches over hosts: the largest number of hosts that divides them evenly."""
    most_hosts = min(fleet.hosts_on(usable_cores), environments)
    if fleet.hosts and environments % most_hosts:
        raise ConfigError(f"{N_ENVS}: {environments} cannot be shared out evenly to fleet.hosts: {fleet.hosts}")
    hosts = max(hosts for hosts in range(1, most_hosts + 1) if environments % hosts == 0)
    return msgspec.structs.replace(fleet, hosts=hosts, matches=environments // hosts)
