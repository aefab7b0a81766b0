"""The Rocket League host: `python -m ludus.games.rocket.host`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from ludus.errors import ConfigError, SetupError
from ludus.games.rocket.matches import RocketMatches, spec_of
from ludus.games.rocket.options import RocketOptions, check
from ludus.games.rocket.simulator import rocketsim
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        rocket_options = msgspec.convert(dict(options), RocketOptions)
        check(rocket_options)
        rocketsim(rocket_options.meshes)
    except msgspec.ValidationError as error:
        raise ConfigError(f"rocket options: {error}") from error
    except SetupError as error:  # a host can only refuse: nothing that it does would install it
        raise ConfigError(str(error)) from error
    spec = spec_of(rocket_options)
    facts = {"rocketsim": version("rocketsim")}
    return HostedGame(spec, facts=facts, group=lambda slots: RocketMatches(rocket_options, spec, slots))


if __name__ == "__main__":
    sys.exit(serve(make_game))
